#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/options.hpp>

namespace penstock {

struct SendOptions {
  /// Further fields, in this order, after `body`. Names that begin with `penstock-`, and `body`,
  /// are refused.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// This message's own max_run. > 0.
  std::optional<milliseconds> timeout{};
};

struct Draft {
  std::string body{};
  SendOptions options{};
};

/// What became of one message of a batch.
struct Sent {
  std::string id;  ///< the entry id; empty where it failed
  errc error =
      errc::ok;  ///< connection_lost and timed_out: it may be there or not, it is not sent again
  std::string text;
  explicit operator bool() const { return error == errc::ok; }
};

struct ProducerOptions {
  milliseconds timeout{5'000};  ///< of one call, connecting included; > 0
};

/// Puts messages on streams. Thread-safe: calls of many threads share one pipelined connection.
class Producer {
 public:
  /// URL as for Worker. Nothing is connected yet. Throws Error(bad_option).
  explicit Producer(std::string url, ProducerOptions options = {});
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Waits for the server's answer and returns the entry id. Throws Error; after connection_lost or
  /// timed_out the message may be on the stream.
  std::string send(std::string_view stream, std::string_view body, const SendOptions& options = {});
  /// In order, pipelined; one answer each. Throws only bad_option (before anything is sent).
  std::vector<Sent> send(std::string_view stream, const std::vector<Draft>& drafts);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
