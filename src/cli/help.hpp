#pragma once

#include <string>
#include <string_view>

namespace penstock::cli {

/// The help of a command; of the whole program for "".
std::string help_text(std::string_view command);
std::string version_text();

}  // namespace penstock::cli
