#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace penstock::cli {

struct OptionSpec {
  enum class Kind { flag, value, list };
  std::string_view name;  ///< with its dashes: "--group"
  char letter = 0;        ///< 'o' for "-o"
  Kind kind = Kind::value;
};

/// A command line taken apart, by name. Bytes are kept as they are: a value may be empty, begin
/// with a dash or hold brackets. (An option library was tried: it splits "[a,b]", takes "-1" for an
/// option and costs twelve seconds of compiling.)
struct Arguments {
  std::map<std::string, std::vector<std::string>, std::less<>> options;
  std::vector<std::string> words;  ///< what is no option, in order

  bool has(std::string_view name) const { return options.find(name) != options.end(); }
  /// The last value, or null.
  const std::string* value(std::string_view name) const;
};

/// `--name value`, `--name=value`, `-o value`, `-ovalue`; `--` ends the options. Failures: unknown
/// option (with the likely one), missing value, a value for a flag, a value option given twice.
base::Result<Arguments> split_arguments(std::span<const std::string> args,
                                        std::span<const OptionSpec> specs);

}  // namespace penstock::cli
