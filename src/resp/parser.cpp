#include "resp/parser.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/assert.hpp"
#include "resp/lexical.hpp"

namespace penstock::resp {

namespace {

constexpr std::size_t buffer_keep_max = 4UL * 1024 * 1024;
constexpr std::size_t nodes_keep_max = 256UL * 1024;

enum class Scan { ok, more, junk, overflow };

/// `-?digits\r\n` at p; on ok, p is behind it. No '+', no "-0", at most 19 digits.
Scan scan_number(const char*& p, const char* end, std::int64_t& value) {
  const char* at = p;
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  const char* first = at;
  std::uint64_t sum = 0;
  while (at != end && is_digit(*at)) {
    if (at - first == 19) return Scan::overflow;
    sum = sum * 10 + static_cast<std::uint64_t>(*at - '0');
    ++at;
  }
  if (negative && at != first && *first == '0') return Scan::junk;
  constexpr auto top = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (sum > top + (negative ? 1 : 0)) return Scan::overflow;
  if (at == end) return Scan::more;
  if (*at != '\r' || at == first) return Scan::junk;
  if (++at == end) return Scan::more;
  if (*at != '\n') return Scan::junk;
  p = at + 1;
  value = static_cast<std::int64_t>(negative ? 0 - sum : sum);
  return Scan::ok;
}

}  // namespace

Parser::Parser(Limits limits) : limits_(limits) {
  // Offsets and counts are 32 bits wide.
  constexpr std::size_t top = 0xFFF00000UL;
  limits_.reply_bytes = std::min(limits_.reply_bytes, top);
  limits_.bulk_bytes = std::min(limits_.bulk_bytes, top);
  limits_.elements = std::min(limits_.elements, top);
  limits_.line_bytes = std::min(limits_.line_bytes, top);
  frames_.reserve(std::min<std::size_t>(limits_.depth, 64));
}

std::span<char> Parser::prepare(std::size_t n) {
  if (complete_) drop_reply();
  const std::size_t live = received();
  if (live == 0) {
    begin_ = end_ = 0;
    if (capacity_ > buffer_keep_max && n <= buffer_keep_max) {
      buffer_.reset();
      capacity_ = 0;
    }
  }
  if (capacity_ - end_ < n) {
    if (begin_ >= live && capacity_ - live >= n) {
      // At most as many bytes move as were consumed before: linear over all.
      std::memmove(buffer_.get(), base(), live);
    } else {
      const std::size_t wanted = std::max(live + n, 2 * live);
      auto fresh = std::make_unique_for_overwrite<char[]>(wanted);
      if (live > 0) std::memcpy(fresh.get(), base(), live);
      buffer_ = std::move(fresh);
      capacity_ = wanted;
    }
    begin_ = 0;
    end_ = live;
  }
  return {buffer_.get() + end_, capacity_ - end_};
}

void Parser::commit(std::size_t n) {
  PENSTOCK_ASSERT(n <= capacity_ - end_);
  end_ += n;
}

void Parser::drop_reply() {
  begin_ += pos_;
  pos_ = scan_ = 0;
  announced_ = 1;
  complete_ = false;
  if (nodes_.capacity() > nodes_keep_max) {
    std::vector<Node>().swap(nodes_);
  } else {
    nodes_.clear();
  }
}

base::Result<std::optional<Reply>> Parser::next() {
  if (complete_) drop_reply();
  while (error_.empty()) {
    if (!in_body_ && run_ahead()) {
      complete_ = true;
      return std::optional<Reply>(Reply(nodes_.data(), base()));
    }
    switch (parse()) {
      case Step::more:
        return std::optional<Reply>();
      case Step::opened:
      case Step::failed:
        break;
      case Step::value:
        if (!close_value()) break;
        complete_ = true;
        return std::optional<Reply>(Reply(nodes_.data(), base()));
    }
  }
  return base::Failure{errc::protocol_error, error_};
}

/// One value is whole: closes what it completes; true when that is the reply itself.
bool Parser::close_value() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (--frame.left > 0) return false;
    const std::uint32_t node = frame.node;
    frames_.pop_back();
    if (nodes_[node].type == Type::attribute) {
      // It belongs to the value behind it and is none itself: nobody asked for it.
      nodes_.resize(node);
      return false;
    }
    nodes_[node].next = static_cast<std::uint32_t>(nodes_.size()) - node;
  }
  return true;
}

/// The common case, whole strings and arrays of ordinary size, in one tight loop: half the time of
/// parse(). Stops in front of anything else and leaves it, and every error, to parse().
/// True: the reply is complete.
bool Parser::run_ahead() {
  const char* const from = base();
  const char* const end = from + std::min(received(), limits_.reply_bytes);
  const char* p = from + pos_;
  bool whole = false;
  while (!whole && end - p > 3 && (*p == '$' || *p == '*')) {
    const char* at = p + 1;
    const char* const digits_end = std::min(end - 2, at + 7);
    std::uint32_t n = 0;
    while (at < digits_end && is_digit(*at)) n = n * 10 + static_cast<std::uint32_t>(*at++ - '0');
    if (at == p + 1 || at[0] != '\r' || at[1] != '\n') break;
    at += 2;
    if (*p == '$') {
      if (n > limits_.bulk_bytes || end - at < std::ptrdiff_t{n} + 2) break;
      if (at[n] != '\r' || at[n + 1] != '\n') break;
      nodes_.push_back({Type::bulk, n, static_cast<std::uint32_t>(at - from), 1, 0});
      p = at + n + 2;
      whole = close_value();
    } else {
      if (n == 0 || frames_.size() >= limits_.depth || announced_ + n > limits_.elements) break;
      announced_ += n;
      frames_.push_back({static_cast<std::uint32_t>(nodes_.size()), n});
      nodes_.push_back({Type::array, n, 0, 1, 0});
      p = at;
    }
  }
  pos_ = static_cast<std::size_t>(p - from);
  return whole;
}

Parser::Step Parser::parse() {
  if (in_body_) return parse_body();
  if (pos_ >= limits_.reply_bytes) return fail("the reply is larger than the limit");
  if (pos_ == received()) return Step::more;
  switch (base()[pos_]) {
    case '$':
      return parse_bulk(Type::bulk);
    case '*':
      return parse_aggregate(Type::array, 1);
    case ':':
      return parse_integer();
    case '+':
      return parse_line(Type::simple);
    case '-':
      return parse_line(Type::error);
    case '_':
      return parse_line(Type::null);
    case '#':
      return parse_line(Type::boolean);
    case ',':
      return parse_line(Type::number);
    case '(':
      return parse_line(Type::big_number);
    case '=':
      return parse_bulk(Type::verbatim);
    case '!':
      return parse_bulk(Type::error);
    case '%':
      return parse_aggregate(Type::map, 2);
    case '~':
      return parse_aggregate(Type::set, 1);
    case '>':
      return parse_aggregate(Type::push, 1);
    case '|':
      return parse_aggregate(Type::attribute, 2);
    default:
      return fail("no reply type begins like this");
  }
}

/// The number behind the type byte; on Step::value `line` is the whole line's length.
Parser::Step Parser::read_number(std::int64_t& value, std::size_t& line) {
  const char* p = base() + pos_ + 1;
  const char* end = base() + received();
  if (p != end && *p == '?') return fail("streamed types are not supported");
  switch (scan_number(p, end, value)) {
    case Scan::more:
      return Step::more;
    case Scan::junk:
      return fail("a number and CRLF must follow the type byte");
    case Scan::overflow:
      return fail("the number is too large");
    case Scan::ok:
      break;
  }
  line = static_cast<std::size_t>(p - base()) - pos_;
  return Step::value;
}

Parser::Step Parser::parse_bulk(Type type) {
  std::int64_t length = 0;
  std::size_t header = 0;
  if (const Step step = read_number(length, header); step != Step::value) return step;
  if (length == -1 && type == Type::bulk) {
    pos_ += header;
    add(Type::null, 0, 0);
    return Step::value;
  }
  if (length < 0) return fail("a length cannot be negative");
  const auto size = static_cast<std::size_t>(length);
  if (size > limits_.bulk_bytes) return fail("the string is longer than the limit");
  if (pos_ + header + size + 2 > limits_.reply_bytes) {
    return fail("the reply is larger than the limit");
  }
  pos_ += header;
  body_type_ = type;
  body_size_ = size;
  return parse_body();
}

Parser::Step Parser::parse_body() {
  in_body_ = received() - pos_ < body_size_ + 2;
  if (in_body_) return Step::more;
  const char* body = base() + pos_;
  const std::size_t at = pos_;
  if (body[body_size_] != '\r' || body[body_size_ + 1] != '\n') {
    pos_ += body_size_;
    return fail("CRLF must follow the bytes of a string");
  }
  if (body_type_ == Type::verbatim) {
    if (body_size_ < 4 || body[3] != ':') return fail("a verbatim string must name its format");
    add(Type::verbatim, at + 4, body_size_ - 4);
  } else {
    add(body_type_, at, body_size_);
  }
  pos_ += body_size_ + 2;
  return Step::value;
}

Parser::Step Parser::parse_aggregate(Type type, std::size_t per_item) {
  std::int64_t length = 0;
  std::size_t header = 0;
  if (const Step step = read_number(length, header); step != Step::value) return step;
  if (length == -1 && type == Type::array) {
    pos_ += header;
    add(Type::null, 0, 0);
    return Step::value;
  }
  if (length < 0) return fail("a count cannot be negative");
  const auto items = static_cast<std::size_t>(length);
  if (items > (limits_.elements - std::min(limits_.elements, announced_)) / per_item) {
    return fail("the reply has more elements than the limit");
  }
  if (frames_.size() >= limits_.depth) return fail("the reply is nested deeper than the limit");
  const std::size_t count = items * per_item;
  announced_ += count;
  pos_ += header;
  if (count == 0 && type == Type::attribute) return Step::opened;
  add(type, 0, count);
  if (count == 0) return Step::value;
  frames_.push_back(
      {static_cast<std::uint32_t>(nodes_.size() - 1), static_cast<std::uint32_t>(count)});
  return Step::opened;
}

Parser::Step Parser::parse_integer() {
  std::int64_t value = 0;
  std::size_t header = 0;
  if (const Step step = read_number(value, header); step != Step::value) return step;
  add(Type::integer, pos_ + 1, header - 3, value);
  pos_ += header;
  return Step::value;
}

Parser::Step Parser::parse_line(Type type) {
  scan_ = std::max(scan_, pos_ + 1);
  const char* from = base() + scan_;
  const auto* lf = static_cast<const char*>(std::memchr(from, '\n', received() - scan_));
  const std::size_t line_end =
      lf == nullptr ? received() : static_cast<std::size_t>(lf - base()) + 1;
  if (line_end - pos_ - 1 > limits_.line_bytes + 2) return fail("a line is longer than the limit");
  if (lf == nullptr) {
    if (line_end - pos_ - 1 == limits_.line_bytes + 2) {
      return fail("a line is longer than the limit");
    }
    scan_ = line_end;
    return Step::more;
  }
  const std::string_view line(base() + pos_ + 1, line_end - pos_ - 2);
  if (!line.ends_with('\r') || line.find('\r') != line.size() - 1) {
    return fail("a line must end with CRLF");
  }
  Node node{.type = type, .integer = 0};
  if (!line_is_valid(type, line.substr(0, line.size() - 1), node)) {
    return fail("this is no value of its type");
  }
  add(type, pos_ + 1, type == Type::null ? 0 : line.size() - 1, node.integer);
  pos_ = line_end;
  return Step::value;
}

bool Parser::line_is_valid(Type type, std::string_view line, Node& node) const {
  switch (type) {
    case Type::null:
      return line.empty();
    case Type::boolean:
      node.integer = line == "t" ? 1 : 0;
      return line == "t" || line == "f";
    case Type::number:
      return is_double(line);
    case Type::big_number:
      return is_big_number(line);
    default:
      return true;
  }
}

void Parser::add(Type type, std::size_t at, std::size_t size, std::int64_t integer) {
  nodes_.push_back(
      {type, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(at), 1, integer});
}

Parser::Step Parser::fail(std::string what) {
  error_ = std::move(what) + ", at byte " + std::to_string(pos_) +
           " of the reply: " + escaped({base() + pos_, received() - pos_});
  return Step::failed;
}

}  // namespace penstock::resp
