#include "resp/reply.hpp"

#include <charconv>

namespace penstock::resp {

bool Reply::is_aggregate() const {
  switch (type()) {
    case Type::array:
    case Type::map:
    case Type::set:
    case Type::push:
    case Type::attribute:
      return true;
    default:
      return false;
  }
}

bool Reply::is_string() const {
  const Type t = type();
  return t == Type::bulk || t == Type::simple || t == Type::verbatim;
}

std::string_view Reply::text() const {
  if (node_ == nullptr || is_null() || is_aggregate()) return {};
  return {base_ + node_->at, node_->size};
}

std::optional<std::int64_t> Reply::integer() const {
  const Type t = type();
  if (t == Type::integer || t == Type::boolean) return node_->integer;
  if (!is_string()) return std::nullopt;
  const std::string_view digits = text();
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::size_t Reply::size() const { return is_aggregate() ? node_->size : 0; }

Reply Reply::operator[](std::size_t i) const {
  if (i >= size()) return {};
  const Node* child = node_ + 1;
  for (; i > 0; --i) child += child->next;
  return {child, base_};
}

Reply::Iterator Reply::begin() const {
  const std::size_t count = size();
  return {count == 0 ? nullptr : node_ + 1, base_, count};
}

Reply::Iterator Reply::end() const { return {nullptr, base_, 0}; }

}  // namespace penstock::resp
