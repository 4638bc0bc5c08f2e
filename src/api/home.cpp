#include "api/home.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <variant>

#include "redis/config.hpp"
#include "store/memory/memory_store.hpp"
#include "store/redis/redis_store.hpp"

namespace penstock::api {

namespace {

using store::memory::MemoryServer;

constexpr std::string_view memory_scheme = "memory:";

store::ServerMs wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// One per name, for the life of the process: that is what "inside this process" means.
std::shared_ptr<MemoryServer> memory_server(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<MemoryServer>> servers;
  const std::lock_guard lock(mutex);
  std::shared_ptr<MemoryServer>& server = servers[name];
  if (server == nullptr) server = std::make_shared<MemoryServer>(wall_ms);
  return server;
}

}  // namespace

struct Home::Target {
  struct Memory {
    std::string name;
    std::shared_ptr<MemoryServer> server;
  };
  std::variant<redis::Config, Memory> where;
};

Home::Home(std::string_view url) : target_(std::make_unique<Target>()) {
  if (url.starts_with(memory_scheme)) {
    const std::string name(url.substr(memory_scheme.size()));
    target_->where = Target::Memory{name, memory_server(name)};
    return;
  }
  auto config = redis::parse_url(url);
  if (!config) throw Error(config.error().code, config.error().text);
  target_->where = std::move(*config);
}

Home::~Home() = default;

std::unique_ptr<store::Store> Home::open(EventThread& thread,
                                         std::shared_ptr<std::atomic<std::uint64_t>> epoch) const {
  if (const auto* memory = std::get_if<Target::Memory>(&target_->where)) {
    return std::make_unique<store::memory::MemoryStore>(memory->server, thread.executor());
  }
  return store::make_redis_store(thread.io(), std::get<redis::Config>(target_->where),
                                 std::move(epoch));
}

std::string Home::redacted() const {
  if (const auto* memory = std::get_if<Target::Memory>(&target_->where)) {
    return std::string(memory_scheme) + memory->name;
  }
  return redis::redacted(std::get<redis::Config>(target_->where));
}

void Home::limit_calls(std::chrono::milliseconds timeout, bool connecting) {
  if (auto* config = std::get_if<redis::Config>(&target_->where)) {
    config->command_timeout = timeout;
    config->time_from_connected = !connecting;
    config->connect_timeout = std::min(config->connect_timeout, timeout);
  }
}

void Home::name_connections(std::string name) {
  if (auto* config = std::get_if<redis::Config>(&target_->where))
    config->client_name = std::move(name);
}

Session::Session(const Home& home) {
  thread_.call(
      [&] { store_ = home.open(thread_, std::make_shared<std::atomic<std::uint64_t>>(0)); });
}

Session::~Session() {
  // Answers that are still out come before the store goes.
  thread_.call([&] { store_->close(); });
  thread_.call([&] { store_.reset(); });
  thread_.stop();
}

}  // namespace penstock::api
