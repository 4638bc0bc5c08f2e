#pragma once

#include <string_view>

namespace penstock::store {

/// One Lua script, embedded at build time.
struct Script {
  std::string_view name;
  std::string_view sha;
  std::string_view body;
};

namespace scripts {
extern const Script open, checkpoint, claim, renew, settle, tick, peek, enlist, forget, trim,
    pending, survey, count;
}  // namespace scripts

}  // namespace penstock::store
