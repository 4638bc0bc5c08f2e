#include "store/keys.hpp"

namespace penstock::store {

bool has_hash_tag(std::string_view stream) {
  const auto open = stream.find('{');
  if (open == std::string_view::npos) return false;
  const auto close = stream.find('}', open + 1);
  return close != std::string_view::npos && close != open + 1;
}

bool untaggable(std::string_view stream) {
  return !has_hash_tag(stream) && stream.find('}') != std::string_view::npos;
}

Keys::Keys(std::string_view name, std::string_view group) : stream(name) {
  std::string prefix;
  if (has_hash_tag(name)) {
    prefix = stream;
  } else {
    prefix.append("{").append(name).append("}");
  }
  const auto of_group = [&](std::string_view kind) {
    std::string key = prefix;
    return key.append(".").append(kind).append(":").append(group);
  };
  due = of_group("due");
  note = of_group("note");
  workers = of_group("workers");
  retry = of_group("retry");
  later = prefix + ".later";
  later_bodies = prefix + ".later.bodies";
  dead = prefix + ".dead";
  conf = prefix + ".conf";
}

}  // namespace penstock::store
