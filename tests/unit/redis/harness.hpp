#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redis/connection.hpp"
#include "support/net/resp_server.hpp"

namespace penstock::redis {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// One answer, copied out of the call.
struct Got {
  errc code = errc::ok;
  std::string text;  ///< reply text or failure text
};

/// A connection and the loop that it lives on, run step by step from the test's thread. Keeps the
/// Asio headers out of the tests.
class Harness {
 public:
  explicit Harness(Config config);
  ~Harness();

  Connection& connection() { return *connection_; }
  void destroy_connection() { connection_.reset(); }
  /// Sends; the answer appears in got(i), i counting from 0 in order of the calls.
  std::size_t send(resp::Command command, milliseconds timeout = milliseconds(5000));
  const std::optional<Got>& got(std::size_t i) const { return got_[i]; }
  /// How often the handler of i was called.
  int calls(std::size_t i) const { return calls_[i]; }
  /// Sends and waits; the answer, or errc::internal when none came in 10 s.
  Got ask(resp::Command command, milliseconds timeout = milliseconds(5000));
  /// Runs the loop until it is true or the time is over.
  bool run_until(const std::function<bool()>& done, milliseconds time = milliseconds(10'000));
  bool run_until_all() {
    return run_until([this] { return answered_ == got_.size(); });
  }
  void run_for(milliseconds time) {
    run_until([] { return false; }, time);
  }
  std::size_t answered() const { return answered_; }

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Connection> connection_;
  std::vector<std::optional<Got>> got_;
  std::vector<int> calls_;
  std::size_t answered_ = 0;
};

inline Config config_for(std::uint16_t port) {
  Config config;
  config.host = "127.0.0.1";
  config.port = port;
  config.connect_timeout = milliseconds(1000);
  return config;
}

inline resp::Command echo(const std::string& text) { return resp::Command("ECHO").arg(text); }

}  // namespace penstock::redis
