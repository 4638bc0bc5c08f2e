#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

/// How a handler wants its delivery to end. Returning nothing from a handler means ack(); an
/// exception means retry() with the exception's text as the reason.
class Outcome {
 public:
  enum class Kind : std::uint8_t { ack, retry, not_yet, release, dead };

  /// Done: the entry is settled for this group.
  static Outcome ack();
  /// Failed: run again later. Counts one attempt. Without `after` the back-off of the options
  /// decides.
  static Outcome retry(std::string why = {});
  static Outcome retry(std::chrono::milliseconds after, std::string why = {});
  /// Not finished yet: look again later. Counts no attempt. Without `after` the option `not_yet`
  /// decides.
  static Outcome not_yet();
  static Outcome not_yet(std::chrono::milliseconds after);
  /// Hand back at once: another worker (or this one) may run it now. Counts no attempt.
  static Outcome release();
  /// Never run it again: to the dead letters, with this reason.
  static Outcome dead(std::string why);

  Kind kind() const { return kind_; }
  /// Empty: as the options say. Not negative.
  std::optional<std::chrono::milliseconds> after() const { return after_; }
  const std::string& why() const { return why_; }

 private:
  Outcome(Kind kind, std::optional<std::chrono::milliseconds> after, std::string why);
  Kind kind_;
  std::optional<std::chrono::milliseconds> after_;
  std::string why_;
};

const char* to_string(Outcome::Kind kind);

}  // namespace penstock
