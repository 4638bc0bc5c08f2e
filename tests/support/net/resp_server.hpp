#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/net/socket.hpp"

namespace penstock::test {

/// A scripted RESP server in a thread of its own: the script says, for each command, the raw bytes
/// of the answer, after which delay, and whether the connection closes behind it.
class RespServer {
 public:
  using Clock = std::chrono::steady_clock;

  struct Answer {
    std::string bytes;  ///< empty: silence
    bool close = false;
    std::chrono::milliseconds delay{0};
  };
  static Answer bytes(std::string raw) { return {std::move(raw), false, {}}; }
  static Answer silence() { return {}; }
  static Answer close() { return {{}, true, {}}; }
  static Answer late(std::chrono::milliseconds delay, std::string raw) {
    return {std::move(raw), false, delay};
  }

  struct Request {
    std::vector<std::string> args;
    int connection = 0;  ///< 1, 2, ...
    Clock::time_point time;
  };

  /// Called on the server's thread. Nothing: the default answer (PONG, OK for AUTH, SELECT and
  /// CLIENT SETNAME, the connection's number for CLIENT ID, a refusal for HELLO, the argument for
  /// ECHO, an error for others).
  using Script =
      std::function<std::optional<Answer>(const std::vector<std::string>& args, int connection)>;

  /// Listens on 127.0.0.1, a free port; with a path on that unix socket.
  explicit RespServer(Script script = nullptr, const std::string& unix_path = {});
  ~RespServer();
  RespServer(const RespServer&) = delete;
  RespServer& operator=(const RespServer&) = delete;

  std::uint16_t port() const { return port_; }
  void set_script(Script script);
  std::vector<Request> log() const;
  /// Logged requests whose first word is `name`.
  std::size_t count(const std::string& name) const;
  int connections() const;
  /// Closes all present connections.
  void close_all();

 private:
  struct Send {
    Clock::time_point at;
    std::string bytes;
    bool close = false;
  };
  struct Client {
    Fd fd;
    std::string in;
    std::deque<Send> out;
  };

  void run();
  void accept_all();
  /// False: the connection is over.
  bool read_from(Client& client, int number);
  bool write_to(Client& client, Clock::time_point now);
  void answer(Client& client, int number, std::vector<std::string> args);
  int wait_ms(Clock::time_point now) const;

  Fd listener_;
  std::uint16_t port_ = 0;
  Waker waker_;
  mutable std::mutex mutex_;
  Script script_;
  std::vector<Request> log_;
  int connections_ = 0;
  bool stop_ = false;
  bool close_all_ = false;
  std::map<int, Client> clients_;  // the thread's own
  std::thread thread_;
};

/// `$<n>\r\n<bytes>\r\n`
std::string bulk(const std::string& bytes);

}  // namespace penstock::test
