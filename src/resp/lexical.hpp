#pragma once

#include <string>
#include <string_view>

namespace penstock::resp {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// `-?digits`
bool is_big_number(std::string_view text);
/// RESP3's doubles: `-?digits[.digits][e[+-]digits]`, inf, -inf, nan.
bool is_double(std::string_view text);
/// The beginning of `bytes` in quotes, with everything unprintable escaped: for error texts.
std::string escaped(std::string_view bytes);

}  // namespace penstock::resp
