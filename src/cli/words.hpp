#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace penstock::cli {

/// Splits a command as a shell does, with '...', "..." and backslash, and nothing else: no
/// variables, no globs, no pipes. An unquoted | & ; < > ` $ ( ) is refused, for it would be handed
/// to the program as a plain word, which is never what was meant: quote it, or use --shell.
base::Result<std::vector<std::string>> split_words(std::string_view line);

/// The file that `name` runs: itself where it holds a '/', else the first match along `path`
/// (the value of PATH; empty: the system's default). Failure: not found, or not executable.
base::Result<std::string> find_program(const std::string& name, std::string_view path);

}  // namespace penstock::cli
