#pragma once

#include <string>
#include <string_view>

namespace penstock::store {

/// The tag that decides the cluster slot: what stands between the first '{' and the next '}', if
/// that is not empty; else none.
bool has_hash_tag(std::string_view stream);
/// True where a key of ours cannot be put into the stream's slot: a name with '}' and no valid tag.
bool untaggable(std::string_view stream);

/// The keys that belong to one stream and, some of them, to one group of it (docs/wire.md).
/// `orders` -> `{orders}.due:<group>`; a name that has a valid tag keeps its own: `{a}b` ->
/// `{a}b.due:g`.
struct Keys {
  explicit Keys(std::string_view stream, std::string_view group = {});
  std::string stream;
  std::string due;
  std::string note;
  std::string workers;
  std::string later;
  std::string later_bodies;
  std::string dead;
  std::string retry;
  std::string conf;
};

}  // namespace penstock::store
