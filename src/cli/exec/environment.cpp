#include "cli/exec/environment.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace penstock::cli::exec {
namespace {

constexpr std::string_view header_prefix = "PENSTOCK_HEADER_";
constexpr std::array<std::string_view, 6> own{"PENSTOCK_STREAM",   "PENSTOCK_GROUP",
                                              "PENSTOCK_ID",       "PENSTOCK_ATTEMPT",
                                              "PENSTOCK_DELIVERY", "PENSTOCK_TOKEN"};

// A worker may itself be the command of another one.
bool of_a_message(std::string_view entry) {
  const auto name = entry.substr(0, entry.find('='));
  return name.starts_with(header_prefix) || std::find(own.begin(), own.end(), name) != own.end();
}

bool is_body(const MessageFacts& message, std::string_view name) {
  return name == "body" || message.fields.size() == 1;
}

}  // namespace

std::string header_variable(std::string_view name) {
  std::string out(header_prefix);
  for (const char c : name) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += lower ? static_cast<char>(c - 'a' + 'A') : kept ? c : '_';
  }
  return out;
}

Environment environment_of(const MessageFacts& message, const char* const* inherited) {
  Environment out;
  for (; inherited != nullptr && *inherited != nullptr; ++inherited) {
    if (!of_a_message(*inherited)) out.entries.emplace_back(*inherited);
  }
  const std::array<std::string, 6> values{message.stream,
                                          message.group,
                                          message.id,
                                          std::to_string(message.attempt),
                                          std::to_string(message.delivery),
                                          message.token};
  for (std::size_t i = 0; i < own.size(); ++i) {
    // A stream's name is only bytes too.
    if (values[i].find('\0') != std::string::npos) {
      out.left_out.emplace_back(own[i]);
      continue;
    }
    out.entries.push_back(std::string(own[i]) + "=" + values[i]);
  }
  std::unordered_set<std::string> seen;
  for (const auto& [name, value] : message.fields) {
    if (is_body(message, name)) continue;
    std::string variable = header_variable(name);
    if (!seen.insert(variable).second) continue;
    if (value.find('\0') != value.npos) {
      out.left_out.emplace_back(name);
      continue;
    }
    out.entries.push_back(std::move(variable) + "=" + std::string(value));
  }
  return out;
}

}  // namespace penstock::cli::exec
