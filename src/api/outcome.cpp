#include <algorithm>
#include <utility>

#include <penstock/outcome.hpp>

namespace penstock {

using std::chrono::milliseconds;

Outcome::Outcome(Kind kind, std::optional<milliseconds> after, std::string why)
    : kind_(kind), after_(after), why_(std::move(why)) {
  if (after_) after_ = std::max(*after_, milliseconds::zero());
}

Outcome Outcome::ack() { return {Kind::ack, std::nullopt, {}}; }
Outcome Outcome::retry(std::string why) { return {Kind::retry, std::nullopt, std::move(why)}; }
Outcome Outcome::retry(milliseconds after, std::string why) {
  return {Kind::retry, after, std::move(why)};
}
Outcome Outcome::not_yet() { return {Kind::not_yet, std::nullopt, {}}; }
Outcome Outcome::not_yet(milliseconds after) { return {Kind::not_yet, after, {}}; }
Outcome Outcome::release() { return {Kind::release, std::nullopt, {}}; }
Outcome Outcome::dead(std::string why) { return {Kind::dead, std::nullopt, std::move(why)}; }

const char* to_string(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::ack:
      return "ack";
    case Outcome::Kind::retry:
      return "retry";
    case Outcome::Kind::not_yet:
      return "not_yet";
    case Outcome::Kind::release:
      return "release";
    case Outcome::Kind::dead:
      return "dead";
  }
  return "unknown";
}

}  // namespace penstock
