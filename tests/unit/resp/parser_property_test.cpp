#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "dump.hpp"

namespace penstock::resp {
namespace {

std::string bulk(char type, const std::string& bytes) {
  return type + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

/// A value's wire form and its dump, made independently of each other.
struct Value {
  std::string wire;
  std::string dump;
};

std::string line_text() {
  return *rc::gen::container<std::string>(
      rc::gen::suchThat(rc::gen::arbitrary<char>(), [](char c) { return c != '\r' && c != '\n'; }));
}

Value leaf() {
  const std::string bytes = *rc::gen::arbitrary<std::string>();
  const std::string sized = std::to_string(bytes.size()) + ":" + bytes;
  switch (*rc::gen::inRange(0, 9)) {
    case 0: {
      const auto number = std::to_string(*rc::gen::arbitrary<std::int64_t>());
      return {":" + number + "\r\n", "i" + number};
    }
    case 1: {
      const std::string text = line_text();
      return {"+" + text + "\r\n", "s" + std::to_string(text.size()) + ":" + text};
    }
    case 2: {
      const std::string text = line_text();
      return {"-" + text + "\r\n", "e" + std::to_string(text.size()) + ":" + text};
    }
    case 3:
      return {"$-1\r\n", "n0:"};
    case 4:
      return {"_\r\n", "n0:"};
    case 5:
      return {"#t\r\n", "t1"};
    case 6:
      return {bulk('=', "txt:" + bytes), "v" + sized};
    case 7:
      return {bulk('!', bytes), "e" + sized};
    default:
      return {bulk('$', bytes), "b" + sized};
  }
}

Value tree(int depth) {
  if (depth == 0 || *rc::gen::inRange(0, 3) == 0) return leaf();
  static constexpr std::pair<char, char> kinds[] = {{'*', 'a'}, {'%', 'm'}, {'~', 'o'}, {'>', 'p'}};
  const auto [wire, name] = kinds[*rc::gen::inRange(0, 4)];
  const int items = *rc::gen::inRange(0, 4);
  const int children = wire == '%' ? 2 * items : items;
  Value value{wire + std::to_string(items) + "\r\n", name + std::to_string(children) + "["};
  for (int i = 0; i < children; ++i) {
    const Value child = tree(depth - 1);
    if (*rc::gen::inRange(0, 8) == 0) value.wire += "|1\r\n" + leaf().wire + leaf().wire;
    value.wire += child.wire;
    value.dump += child.dump + " ";
  }
  value.dump += "]";
  return value;
}

std::vector<std::string_view> random_slices(std::string_view bytes) {
  std::vector<std::string_view> pieces;
  while (!bytes.empty()) {
    const auto n = static_cast<std::size_t>(*rc::gen::inRange(1, 24));
    pieces.push_back(bytes.substr(0, n));
    bytes.remove_prefix(std::min(n, bytes.size()));
  }
  return pieces;
}

RC_GTEST_PROP(ParserProperty, random_trees_in_random_slices_come_back, ()) {
  std::string bytes;
  std::vector<std::string> wanted;
  const int replies = *rc::gen::inRange(1, 4);
  for (int i = 0; i < replies; ++i) {
    const Value value = tree(5);
    bytes += value.wire;
    wanted.push_back(value.dump);
  }
  RC_ASSERT(parse_pieces(random_slices(bytes)) == wanted);
}

/// Damaged bytes: never a crash, and the same answer for the whole and for single bytes.
RC_GTEST_PROP(ParserProperty, damaged_bytes_give_the_same_for_every_split, ()) {
  std::string bytes = tree(4).wire;
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = *rc::gen::element('\r', '\n', '*', '$', '9', '-', '|', '?', '\0', 'x');
  }
  const auto whole = parse_all(bytes);
  RC_ASSERT(parse_bytewise(bytes) == whole);
  RC_ASSERT(parse_pieces(random_slices(bytes)) == whole);
}

}  // namespace
}  // namespace penstock::resp
