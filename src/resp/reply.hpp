#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock::resp {

enum class Type : std::uint8_t {
  simple,
  error,
  integer,
  bulk,
  null,
  array,
  map,
  set,
  push,
  boolean,
  number,
  big_number,
  verbatim,
  attribute
};

/// One node of a parsed reply; nodes lie in pre-order in one flat array.
struct Node {
  Type type = Type::null;
  std::uint32_t size =
      0;                 ///< bytes of a string, or number of direct children (a map has 2 per pair)
  std::uint32_t at = 0;  ///< offset of a string's bytes
  std::uint32_t next = 1;    ///< nodes of this subtree, itself included
  std::int64_t integer = 0;  ///< value of integer and boolean
};

/// A view of one reply or of a part of it. Does not own the bytes: valid during the handler's call
/// only. All accessors are total: a wrong type answers empty, never undefined behaviour, for the
/// bytes come from the network.
class Reply {
 public:
  Reply() = default;
  Reply(const Node* node, const char* base) : node_(node), base_(base) {}

  Type type() const { return node_ == nullptr ? Type::null : node_->type; }
  bool is_null() const { return type() == Type::null; }
  bool is_error() const { return type() == Type::error; }
  bool is_aggregate() const;
  bool is_string() const;         ///< bulk, simple, verbatim
  std::string_view text() const;  ///< bytes of any string, error or number type; else empty
  /// integer, boolean, or a string that is a whole decimal number
  std::optional<std::int64_t> integer() const;
  std::size_t size() const;  ///< direct children; 0 for others
  /// Child i, or a null reply past the end. O(i): use children() to walk.
  Reply operator[](std::size_t i) const;

  class Iterator {
   public:
    Iterator(const Node* node, const char* base, std::size_t left)
        : node_(node), base_(base), left_(left) {}
    Reply operator*() const { return Reply(node_, base_); }
    Iterator& operator++() {
      node_ += node_->next;
      --left_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    const Node* node_;
    const char* base_;
    std::size_t left_;
  };
  Iterator begin() const;
  Iterator end() const;

 private:
  const Node* node_ = nullptr;
  const char* base_ = nullptr;
};

}  // namespace penstock::resp
