#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace penstock {

namespace detail {
struct MessageAccess;
struct MessageData;
}  // namespace detail

/// Names one delivery for the user's own database: "write if not older". Compares by epoch, then
/// entry id, then delivery number. The epoch is the store's time (ms) at which the group was made
/// or found lost. After a failover that rolls the server back a token can repeat.
struct Token {
  std::int64_t epoch = 0;
  std::uint64_t id_ms = 0;
  std::uint64_t id_seq = 0;
  std::int64_t delivery = 0;
  auto operator<=>(const Token&) const = default;
};
/// Fixed width, so that the texts compare like the tokens.
std::string to_string(const Token& token);

/// One delivered message. Cheap to copy (shares the bytes of its batch); all views live as long as
/// any copy does. Immutable, so safe to read from several threads.
class Message {
 public:
  /// The field `body`; in an entry without one, the value of its only field; else empty.
  std::string_view body() const;
  std::string_view stream() const;
  std::string_view group() const;
  /// The entry id, `<ms>-<seq>`.
  std::string id() const;
  /// Which try this is: 1 + the failed runs so far. Releases, hand-backs and "not yet" do not
  /// count.
  std::int64_t attempt() const;
  /// The server's count of hand-overs of this entry (not raised by renewals).
  std::int64_t delivery() const;
  Token token() const;
  /// Why the last attempt failed; empty on the first.
  std::string_view last_error() const;
  /// Time of the first failure, the store's clock, ms since 1970; 0 where it never failed.
  std::int64_t first_failed_ms() const;
  /// Value of the first field with that name, fields named `body` and `penstock-*` included.
  std::optional<std::string_view> header(std::string_view name) const;
  /// All fields in their order: name and value.
  std::size_t field_count() const;
  std::pair<std::string_view, std::string_view> field(std::size_t index) const;

 private:
  friend struct detail::MessageAccess;
  Message(std::shared_ptr<const detail::MessageData> data, std::uint32_t index)
      : data_(std::move(data)), index_(index) {}
  std::shared_ptr<const detail::MessageData> data_;
  std::uint32_t index_;
};

}  // namespace penstock
