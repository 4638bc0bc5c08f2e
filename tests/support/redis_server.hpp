#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/process.hpp"
#include "support/redis_client.hpp"
#include "support/temp_dir.hpp"

namespace penstock::test {

struct RedisOptions {
  bool tcp = false;                         ///< also listen on a free port of 127.0.0.1
  bool appendonly = false;                  ///< keep data over a restart
  std::string appendfsync = "everysec";     ///< a kill -9 loses nothing the kernel has
  std::vector<std::string> arguments = {};  ///< e.g. {"--maxmemory", "10mb"}
};

enum class Data { keep, empty };

struct CommandStats {
  long long calls = 0;
  long long usec = 0;
  long long failed = 0;
};

struct PendingRow {
  std::string id;
  std::string consumer;
  long long idle_ms = 0;
  long long deliveries = 0;
};

/// A redis-server of its own on a unix socket in a temporary folder. Started by the constructor,
/// ended by the destructor, by pid. `cli` and what is built on it may be called from any thread.
class RedisServer {
 public:
  explicit RedisServer(RedisOptions options = {});
  ~RedisServer() = default;
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  const std::filesystem::path& socket_path() const { return socket_; }
  /// 0 without `tcp`. The same over restarts.
  int port() const { return port_; }
  std::string url() const { return "unix://" + socket_.string(); }
  std::string tcp_url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  std::string log() const;

  /// Returns when PING is answered; throws with the server's log after 10 s (scaled).
  void start();
  /// SIGTERM, waits for the end.
  void stop();
  void kill9();
  /// SIGSTOP and SIGCONT: a server that hangs.
  void pause() { process_.value().stop(); }
  void resume() { process_.value().resume(); }
  /// Stops if it runs, and starts. `Data::empty` removes its files first.
  void restart(Data data);

  /// A connection of the caller's own; blocking commands need one.
  RedisClient connect(std::chrono::milliseconds timeout = std::chrono::seconds(10)) const;

  Value cli(const std::vector<std::string>& args);
  template <class... Args>
  Value cli(std::string command, Args&&... args) {
    return cli(std::vector<std::string>{std::move(command), std::string(args)...});
  }

  /// The id of the new entry. Throws on an error reply.
  std::string xadd(const std::string& stream,
                   const std::vector<std::pair<std::string, std::string>>& fields,
                   const std::string& id = "*");
  long long xlen(const std::string& stream);
  /// The size of the group's pending entries list; -1 without the stream or the group.
  long long xpending(const std::string& stream, const std::string& group);
  std::vector<PendingRow> pending_rows(const std::string& stream, const std::string& group,
                                       int max = 10'000);

  std::map<std::string, std::string> info(const std::string& section);
  /// By lower-case name, e.g. "xreadgroup", "client|id". Calls from inside scripts count too.
  std::map<std::string, CommandStats> commandstats();
  /// Commands since the start of the server, without those of `cli`. One inside a script counts.
  long long commands_processed();
  double cpu_seconds();

 private:
  void await_ping();

  RedisOptions options_;
  TempDir dir_;
  std::filesystem::path socket_;
  int port_ = 0;
  std::optional<Process> process_;

  std::mutex mutex_;
  std::optional<RedisClient> client_;
  long long own_commands_ = 0;
  long long start_commands_ = 0;
};

/// What MONITOR shows from construction on. Lines of commands inside a script hold " lua] ".
class Monitor {
 public:
  explicit Monitor(RedisServer& server);
  /// Everything since the last call, complete: a marker is sent and waited for.
  std::vector<std::string> take();

 private:
  RedisServer& server_;
  RedisClient client_;
  int marker_ = 0;
};

}  // namespace penstock::test
