#include "resp/lexical.hpp"

namespace penstock::resp {

namespace {

constexpr std::size_t excerpt_max = 40;

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t n = 0;
  while (at + n < text.size() && is_digit(text[at + n])) ++n;
  return n;
}

}  // namespace

std::string escaped(std::string_view bytes) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : bytes.substr(0, excerpt_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\r') {
      out += "\\r";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  out += bytes.size() > excerpt_max ? "...\"" : "\"";
  return out;
}

bool is_big_number(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t digits = digits_at(text, sign);
  return digits > 0 && sign + digits == text.size();
}

bool is_double(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  if (text.substr(at) == "inf" || text == "nan" || text == "-nan") return true;
  const std::size_t whole = digits_at(text, at);
  if (whole == 0) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t part = digits_at(text, ++at);
    if (part == 0) return false;
    at += part;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t part = digits_at(text, at);
    if (part == 0) return false;
    at += part;
  }
  return at == text.size();
}

}  // namespace penstock::resp
