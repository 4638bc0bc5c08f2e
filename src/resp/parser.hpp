#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "resp/reply.hpp"

namespace penstock::resp {

/// What one reply may be. The bytes come from the network: past a limit they are a protocol error.
struct Limits {
  std::size_t depth = 32;                          ///< aggregates inside each other
  std::size_t elements = 4 * 1024 * 1024;          ///< nodes of one reply
  std::size_t bulk_bytes = 512UL * 1024 * 1024;    ///< one string
  std::size_t reply_bytes = 1024UL * 1024 * 1024;  ///< one whole reply; at most 4 GiB - 1 MiB
  std::size_t line_bytes = 64UL * 1024;            ///< simple strings, errors, numbers
};

/// RESP2 and RESP3, fed in any pieces, the same replies for all of them. Time is linear in the
/// bytes: nothing is scanned twice. Memory follows the bytes received, never a length announced.
/// Attributes (`|`) are read and dropped; streamed types (`$?`, `*?`) are refused.
class Parser {
 public:
  explicit Parser(Limits limits = {});

  /// Room for at least `n` bytes behind those received. Ends the life of the last reply.
  std::span<char> prepare(std::size_t n);
  /// `n` bytes of the prepared room are filled.
  void commit(std::size_t n);
  /// The next whole reply, nothing while more bytes are needed, or errc::protocol_error (again at
  /// each further call). The reply is valid until the next call of next() or prepare().
  base::Result<std::optional<Reply>> next();

  /// Bytes received and not yet part of a reply that was given out.
  std::size_t buffered() const { return end_ - begin_ - (complete_ ? pos_ : 0); }
  /// Bytes of memory held.
  std::size_t memory() const { return capacity_ + nodes_.capacity() * sizeof(Node); }

 private:
  enum class Step { value, opened, more, failed };
  struct Frame {
    std::uint32_t node;
    std::uint32_t left;
  };

  bool run_ahead();
  Step parse();
  Step parse_bulk(Type type);
  Step parse_body();
  Step parse_aggregate(Type type, std::size_t per_item);
  Step parse_integer();
  Step parse_line(Type type);
  bool line_is_valid(Type type, std::string_view line, Node& node) const;
  Step read_number(std::int64_t& value, std::size_t& line);
  bool close_value();
  Step fail(std::string what);
  void add(Type type, std::size_t at, std::size_t size, std::int64_t integer = 0);
  void drop_reply();
  const char* base() const { return buffer_.get() + begin_; }
  std::size_t received() const { return end_ - begin_; }

  Limits limits_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // of the present reply
  std::size_t end_ = 0;    // of the bytes received
  // Offsets from begin_, so that the buffer may move under them.
  std::size_t pos_ = 0;   // first byte not parsed
  std::size_t scan_ = 0;  // no line end before it
  bool in_body_ = false;
  Type body_type_ = Type::bulk;
  std::size_t body_size_ = 0;
  bool complete_ = false;
  std::size_t announced_ = 1;
  std::vector<Node> nodes_;
  std::vector<Frame> frames_;
  std::string error_;
};

}  // namespace penstock::resp
