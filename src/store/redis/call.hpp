#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/entry_id.hpp"
#include "base/result.hpp"
#include "redis/connection.hpp"
#include "store/redis/scripts.hpp"

namespace penstock::store {

/// A script with its keys and arguments, kept until the server has taken it: a server that forgot
/// the script gets it again with its text.
class ScriptCall {
 public:
  explicit ScriptCall(const Script& script) : script_(&script) {}

  ScriptCall& key(std::string_view name) {
    ++keys_;
    return arg(name);
  }
  ScriptCall& arg(std::string_view bytes) {
    bytes_.append(bytes);
    ends_.push_back(bytes_.size());
    return *this;
  }
  template <std::integral T>
  ScriptCall& arg(T number) {
    return arg(std::string_view(std::to_string(number)));
  }
  ScriptCall& arg(base::EntryId id) {
    base::append_to(bytes_, id);
    ends_.push_back(bytes_.size());
    return *this;
  }

  resp::Command by_sha() const { return build("EVALSHA", script_->sha); }
  resp::Command by_text() const { return build("EVAL", script_->body); }

 private:
  resp::Command build(std::string_view name, std::string_view what) const;

  const Script* script_;
  std::size_t keys_ = 0;
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

/// EVALSHA, and EVAL where the server does not know the script.
void run(const std::shared_ptr<redis::Connection>& connection, ScriptCall call,
         redis::Connection::Handler handler);

/// What a reply that does not look as it must becomes.
inline base::Failure strange(std::string_view what) {
  std::string text = "the server's reply to ";
  return {errc::protocol_error, text.append(what).append(" does not look as it must")};
}

/// A handler that turns the reply into the operation's answer with `decode`.
template <class T, class F>
redis::Connection::Handler answer(base::Done<T> done, F decode) {
  return [done = std::move(done), decode = std::move(decode)](base::Result<resp::Reply> reply) {
    if (reply.has_error()) return done(reply.error());
    done(decode(*reply));
  };
}

}  // namespace penstock::store
