#include "cli/arguments.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/text.hpp"

namespace penstock::cli {
namespace {

using base::Failure;
using Kind = OptionSpec::Kind;

Failure bad(std::string text) { return {errc::bad_option, std::move(text)}; }

const OptionSpec* find_long(std::span<const OptionSpec> specs, std::string_view name) {
  const auto at = std::find_if(specs.begin(), specs.end(),
                               [&](const OptionSpec& spec) { return spec.name == name; });
  return at == specs.end() ? nullptr : &*at;
}

const OptionSpec* find_letter(std::span<const OptionSpec> specs, char letter) {
  const auto at = std::find_if(specs.begin(), specs.end(),
                               [&](const OptionSpec& spec) { return spec.letter == letter; });
  return at == specs.end() ? nullptr : &*at;
}

Failure unknown(std::string_view name, std::span<const OptionSpec> specs) {
  std::vector<std::string_view> names;
  for (const OptionSpec& spec : specs) names.push_back(spec.name);
  return bad(fmt::format("unknown option {}{}", escaped(name, 80), did_you_mean(name, names)));
}

bool is_option(std::string_view word, std::span<const OptionSpec> specs) {
  const auto name = word.substr(0, word.find('='));
  return find_long(specs, name) != nullptr || word == "--";
}

}  // namespace

const std::string* Arguments::value(std::string_view name) const {
  const auto at = options.find(name);
  return at == options.end() || at->second.empty() ? nullptr : &at->second.back();
}

base::Result<Arguments> split_arguments(std::span<const std::string> args,
                                        std::span<const OptionSpec> specs) {
  Arguments out;
  bool options_over = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (options_over || arg.size() < 2 || arg.front() != '-') {
      out.words.emplace_back(arg);
      continue;
    }
    if (arg == "--") {
      options_over = true;
      continue;
    }
    const bool is_long = arg[1] == '-';
    const std::size_t equals = is_long ? arg.find('=') : arg.npos;
    const auto name = is_long ? arg.substr(0, equals) : arg.substr(0, 2);
    const OptionSpec* spec = is_long ? find_long(specs, name) : find_letter(specs, arg[1]);
    if (spec == nullptr) return unknown(name, specs);
    auto& values = out.options[std::string(spec->name)];
    const bool attached = is_long ? equals != arg.npos : arg.size() > 2;
    if (spec->kind == Kind::flag) {
      if (attached) return bad(fmt::format("{} takes no value", spec->name));
      continue;
    }
    if (spec->kind == Kind::value && !values.empty()) {
      return bad(fmt::format("{} is given twice", spec->name));
    }
    if (attached) {
      values.emplace_back(arg.substr(is_long ? equals + 1 : 2));
    } else if (i + 1 == args.size()) {
      return bad(fmt::format("{} needs a value", spec->name));
    } else if (is_option(args[i + 1], specs)) {
      return bad(fmt::format("{0} needs a value; where \"{1}\" is meant as one, write {0}={1}",
                             spec->name, escaped(args[i + 1], 40)));
    } else {
      values.push_back(args[++i]);
    }
  }
  return out;
}

}  // namespace penstock::cli
