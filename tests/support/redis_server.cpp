#include "support/redis_server.hpp"

#include <arpa/inet.h>
#include <cstdlib>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "support/eventually.hpp"

namespace penstock::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A port that was free a moment ago; the start is tried again with another one if it is taken.
int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const bool ok = fd >= 0 && ::bind(fd, raw, size) == 0 && ::getsockname(fd, raw, &size) == 0;
  if (fd >= 0) ::close(fd);
  if (!ok) throw std::runtime_error("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

long long number(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); }

/// The number after `name=` in "calls=1,usec=2,...".
long long field(const std::string& text, const std::string& name) {
  const auto at = text.find(name + "=");
  return at == std::string::npos ? 0 : number(text.substr(at + name.size() + 1));
}

}  // namespace

RedisServer::RedisServer(RedisOptions options)
    : options_(std::move(options)), socket_(dir_ / "redis.sock") {
  std::filesystem::create_directory(dir_ / "data");
  for (int attempt = 1;; ++attempt) {
    if (options_.tcp) port_ = free_port();
    try {
      start();
      return;
    } catch (const std::runtime_error&) {
      if (!options_.tcp || attempt == 5) throw;
    }
  }
}

void RedisServer::start() {
  if (process_ && process_->running()) throw std::logic_error("redis-server runs already");
  std::vector<std::string> argv{"redis-server",
                                "--port",
                                std::to_string(port_),
                                "--bind",
                                "127.0.0.1",
                                "--unixsocket",
                                socket_.string(),
                                "--dir",
                                (dir_ / "data").string(),
                                "--save",
                                "",
                                "--appendonly",
                                options_.appendonly ? "yes" : "no",
                                "--appendfsync",
                                options_.appendfsync,
                                "--enable-debug-command",
                                "local"};
  argv.insert(argv.end(), options_.arguments.begin(), options_.arguments.end());
  process_.emplace(Spawn{.argv = std::move(argv),
                         .env = {},
                         .cwd = {},
                         .stdin_file = {},
                         .stdout_file = dir_ / "log",
                         .stderr_file = dir_ / "log"});
  await_ping();
}

void RedisServer::await_ping() {
  const bool up = eventually(
      [&] {
        if (!process_->running()) return true;
        try {
          RedisClient client = connect(seconds(1));
          return client.command({"PING"}).text == "PONG";  // LOADING is an error reply
        } catch (const std::runtime_error&) {
          return false;
        }
      },
      seconds(10));
  if (up && process_->running()) {
    own_commands_ = 0;
    start_commands_ = number(info("stats")["total_commands_processed"]);
    return;
  }
  process_.reset();
  throw std::runtime_error("redis-server did not start:\n" + log());
}

std::string RedisServer::log() const { return read_file(dir_ / "log"); }

void RedisServer::stop() {
  const std::lock_guard lock(mutex_);
  client_.reset();
  own_commands_ = 0;
  if (!process_) return;
  process_->signal(SIGTERM);
  const bool ended = process_->wait(seconds(10)).has_value();
  process_.reset();
  if (!ended) throw std::runtime_error("redis-server did not stop:\n" + log());
}

void RedisServer::kill9() {
  const std::lock_guard lock(mutex_);
  client_.reset();
  own_commands_ = 0;
  if (process_) process_->kill9();
  process_.reset();
}

void RedisServer::restart(Data data) {
  if (process_ && process_->running()) stop();
  if (data == Data::empty) {
    std::filesystem::remove_all(dir_ / "data");
    std::filesystem::create_directory(dir_ / "data");
  }
  start();
}

RedisClient RedisServer::connect(milliseconds timeout) const {
  return RedisClient::unix_socket(socket_.string(), scaled(timeout));
}

Value RedisServer::cli(const std::vector<std::string>& args) {
  const std::lock_guard lock(mutex_);
  if (!client_) client_ = connect();
  try {
    ++own_commands_;
    return client_->command(args);
  } catch (const std::runtime_error&) {
    client_.reset();  // the next call gets a connection whose replies are its own
    throw;
  }
}

std::string RedisServer::xadd(const std::string& stream,
                              const std::vector<std::pair<std::string, std::string>>& fields,
                              const std::string& id) {
  std::vector<std::string> args{"XADD", stream, id};
  for (const auto& [name, value] : fields) {
    args.push_back(name);
    args.push_back(value);
  }
  const Value reply = cli(args);
  if (reply.is_error()) throw std::runtime_error("xadd: " + reply.text);
  return reply.text;
}

long long RedisServer::xlen(const std::string& stream) { return cli("XLEN", stream).integer; }

long long RedisServer::xpending(const std::string& stream, const std::string& group) {
  const Value reply = cli("XPENDING", stream, group);
  return reply.is_error() ? -1 : reply[0].integer;
}

std::vector<PendingRow> RedisServer::pending_rows(const std::string& stream,
                                                  const std::string& group, int max) {
  const Value reply = cli("XPENDING", stream, group, "-", "+", std::to_string(max));
  std::vector<PendingRow> rows;
  rows.reserve(reply.size());
  for (const Value& row : reply.items) {
    rows.push_back({.id = row[0].text,
                    .consumer = row[1].text,
                    .idle_ms = row[2].integer,
                    .deliveries = row[3].integer});
  }
  return rows;
}

std::map<std::string, std::string> RedisServer::info(const std::string& section) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(cli("INFO", section).text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const auto colon = line.find(':');
    if (colon != std::string::npos) fields[line.substr(0, colon)] = line.substr(colon + 1);
  }
  return fields;
}

std::map<std::string, CommandStats> RedisServer::commandstats() {
  std::map<std::string, CommandStats> stats;
  const std::string prefix = "cmdstat_";
  for (const auto& [name, text] : info("commandstats")) {
    if (!name.starts_with(prefix)) continue;
    stats[name.substr(prefix.size())] = {.calls = field(text, "calls"),
                                         .usec = field(text, "usec"),
                                         .failed = field(text, "failed_calls")};
  }
  return stats;
}

long long RedisServer::commands_processed() {
  const long long total = number(info("stats")["total_commands_processed"]);
  const std::lock_guard lock(mutex_);
  return total - (own_commands_ - 1) - start_commands_;
}

double RedisServer::cpu_seconds() {
  auto cpu = info("cpu");
  return std::strtod(cpu["used_cpu_user"].c_str(), nullptr) +
         std::strtod(cpu["used_cpu_sys"].c_str(), nullptr);
}

Monitor::Monitor(RedisServer& server) : server_(server), client_(server.connect()) {
  client_.command({"MONITOR"});
}

std::vector<std::string> Monitor::take() {
  const std::string marker = "penstock-monitor-marker-" + std::to_string(++marker_);
  server_.cli("ECHO", marker);
  std::vector<std::string> lines;
  for (;;) {
    std::string line = client_.read().text;
    if (line.find(marker) != std::string::npos) return lines;
    lines.push_back(std::move(line));
  }
}

}  // namespace penstock::test
