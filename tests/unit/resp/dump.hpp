#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resp/parser.hpp"

namespace penstock::resp {

/// One line of text for a reply: type and value, children in brackets.
inline std::string dump(const Reply& reply) {
  static constexpr std::string_view names = "seibnamoptdgv|";
  std::string out(1, names[static_cast<std::size_t>(reply.type())]);
  if (reply.is_aggregate()) {
    out += std::to_string(reply.size()) + "[";
    for (const Reply child : reply) out += dump(child) + " ";
    return out + "]";
  }
  const bool number = reply.type() == Type::integer || reply.type() == Type::boolean;
  if (number) return out + std::to_string(reply.integer().value());
  return out + std::to_string(reply.text().size()) + ":" + std::string(reply.text());
}

/// Feeds `pieces` one after the other; dumps of all replies, then "!<error>" if one came. The
/// bytes that an error quotes depend on how many came so far: cut off.
inline std::vector<std::string> parse_pieces(const std::vector<std::string_view>& pieces,
                                             Limits limits = {}) {
  Parser parser(limits);
  std::vector<std::string> out;
  for (const std::string_view piece : pieces) {
    const auto room = parser.prepare(piece.size());
    piece.copy(room.data(), piece.size());
    parser.commit(piece.size());
    for (;;) {
      auto next = parser.next();
      if (!next) {
        const std::string& text = next.error().text;
        out.push_back("!" + text.substr(0, text.find(" of the reply")));
        return out;
      }
      if (!next->has_value()) break;
      out.push_back(dump(**next));
    }
  }
  return out;
}

inline std::vector<std::string> parse_all(std::string_view bytes, Limits limits = {}) {
  return parse_pieces({bytes}, limits);
}

inline std::vector<std::string> parse_bytewise(std::string_view bytes, Limits limits = {}) {
  std::vector<std::string_view> pieces;
  for (std::size_t i = 0; i < bytes.size(); ++i) pieces.push_back(bytes.substr(i, 1));
  return parse_pieces(pieces, limits);
}

}  // namespace penstock::resp
