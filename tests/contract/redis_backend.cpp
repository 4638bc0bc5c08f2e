#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>
#include <stdexcept>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "contract/backend.hpp"
#include "store/keys.hpp"
#include "store/redis/redis_store.hpp"
#include "support/redis_server.hpp"

namespace penstock::contract {

namespace {

using test::RedisServer;
using test::Value;

/// One server for all tests of the process, emptied for each.
RedisServer& server() {
  static RedisServer one{{.arguments = {"--hz", "100"}}};
  return one;
}

Value ask(const std::vector<std::string>& args) {
  Value reply = server().cli(args);
  if (reply.is_error()) throw std::runtime_error(args[0] + ": " + reply.text);
  return reply;
}

EntryId id_of(const Value& value) { return base::parse_entry_id(value.text).value(); }

class RedisBackend final : public Backend {
 public:
  RedisBackend() {
    ask({"CONFIG", "SET", "maxmemory", "0"});
    ask({"FLUSHALL"});
    // Each test meets a server that knows no script, and the reload with it.
    ask({"SCRIPT", "FLUSH"});
  }
  ~RedisBackend() override { io_.poll(); }

  std::string name() const override { return "redis"; }
  std::unique_ptr<store::Store> session() override {
    redis::Config config;
    config.unix_path = server().socket_path();
    config.client_name = "session-" + std::to_string(++sessions_);
    auto made =
        store::make_redis_store(io_, config, std::make_shared<std::atomic<std::uint64_t>>(0));
    names_[made.get()] = config.client_name;
    return made;
  }
  void break_connection(store::Store& session) override {
    const std::string list = ask({"CLIENT", "LIST"}).text;
    const std::string mark = " name=" + names_.at(&session);  // and ":..." where it reads a lane
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find('\n', at), list.size());
      const std::string line = list.substr(at, end - at);
      at = end + 1;
      const auto found = line.find(mark);
      if (found == std::string::npos || std::isdigit(line[found + mark.size()]) != 0) continue;
      ask({"CLIENT", "KILL", "ID", line.substr(3, line.find(' ') - 3)});
    }
  }
  bool run_until(const std::function<bool()>& ready, milliseconds limit) override {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!ready()) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left <= left.zero()) return ready();
      io_.run_one_for(left);
    }
    return true;
  }
  void pass(milliseconds time) override {
    run_until([] { return false; }, time);
  }
  ServerMs now() override {
    const Value time = ask({"TIME"});
    return std::stoll(time[0].text) * 1000 + std::stoll(time[1].text) / 1000;
  }

  void delete_key(const std::string& key) override { ask({"DEL", key}); }
  void spoil_key(const std::string& key) override { ask({"SET", key, "x"}); }
  void create_group(const std::string& stream, const std::string& group) override {
    ask({"XGROUP", "CREATE", stream, group, "0", "MKSTREAM"});
  }
  void destroy_group(const std::string& stream, const std::string& group) override {
    ask({"XGROUP", "DESTROY", stream, group});
  }
  void set_group_id(const std::string& stream, const std::string& group, EntryId id) override {
    ask({"XGROUP", "SETID", stream, group, base::to_string(id)});
  }
  void delete_consumer(const std::string& stream, const std::string& group,
                       const std::string& consumer) override {
    ask({"XGROUP", "DELCONSUMER", stream, group, consumer});
  }
  void delete_body(const std::string& stream, EntryId id) override {
    ask({"XDEL", stream, base::to_string(id)});
  }
  EntryId add_foreign_entry(const std::string& stream, const Fields& fields) override {
    std::vector<std::string> args{"XADD", stream, "*"};
    for (const auto& [field, value] : fields) args.insert(args.end(), {field, value});
    return id_of(ask(args));
  }
  std::vector<EntryId> raw_take(const std::string& stream, const std::string& group,
                                const std::string& consumer, std::uint32_t max) override {
    const Value reply = ask({"XREADGROUP", "GROUP", group, consumer, "COUNT", std::to_string(max),
                             "STREAMS", stream, ">"});
    std::vector<EntryId> out;
    if (reply.is_nil()) return out;
    for (const Value& entry : reply[0][1].items) out.push_back(id_of(entry[0]));
    return out;
  }
  void raw_claim(const std::string& stream, const std::string& group, const std::string& consumer,
                 EntryId id) override {
    ask({"XCLAIM", stream, group, consumer, "0", base::to_string(id)});
  }
  void add_due_row(const std::string& stream, const std::string& group, EntryId id,
                   ServerMs at) override {
    ask({"ZADD", store::Keys(stream, group).due, std::to_string(at), base::to_string(id)});
  }
  void refuse_writes(bool on) override { ask({"CONFIG", "SET", "maxmemory", on ? "1" : "0"}); }

  std::vector<RawPending> raw_pending(const std::string& stream,
                                      const std::string& group) override {
    std::vector<RawPending> out;
    for (const Value& row : ask({"XPENDING", stream, group, "-", "+", "100000"}).items) {
      out.push_back({id_of(row[0]), row[1].text, row[2].integer, row[3].integer});
    }
    return out;
  }
  std::vector<std::pair<EntryId, ServerMs>> due_rows(const std::string& stream,
                                                     const std::string& group) override {
    std::vector<std::pair<EntryId, ServerMs>> out;
    const std::string key = store::Keys(stream, group).due;
    if (ask({"TYPE", key}).text != "zset") return out;
    const Value rows = ask({"ZRANGE", key, "0", "-1", "WITHSCORES"});
    for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
      out.emplace_back(id_of(rows[i]), std::stoll(rows[i + 1].text));
    }
    return out;
  }
  std::vector<EntryId> notes(const std::string& stream, const std::string& group) override {
    std::vector<EntryId> out;
    const std::string key = store::Keys(stream, group).note;
    if (ask({"TYPE", key}).text != "hash") return out;
    for (const Value& id : ask({"HKEYS", key}).items) out.push_back(id_of(id));
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<std::pair<EntryId, Fields>> entries(const std::string& key) override {
    std::vector<std::pair<EntryId, Fields>> out;
    if (ask({"TYPE", key}).text != "stream") return out;
    for (const Value& entry : ask({"XRANGE", key, "-", "+"}).items) {
      Fields fields;
      const Value& flat = entry[1];
      for (std::size_t i = 0; i + 1 < flat.size(); i += 2) {
        fields.emplace_back(flat[i].text, flat[i + 1].text);
      }
      out.emplace_back(id_of(entry[0]), std::move(fields));
    }
    return out;
  }
  std::vector<std::string> consumers(const std::string& stream, const std::string& group) override {
    std::vector<std::string> out;
    for (const Value& row : ask({"XINFO", "CONSUMERS", stream, group}).items) {
      out.push_back(row.at("name").text);
    }
    return out;
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::map<const store::Store*, std::string> names_;
  int sessions_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<RedisBackend>(); }

}  // namespace penstock::contract
