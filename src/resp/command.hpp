#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::resp {

/// Appends `*<n>\r\n` / `$<len>\r\n<bytes>\r\n` to a buffer.
void append_array_header(std::string& out, std::size_t count);
void append_bulk(std::string& out, std::string_view bytes);
void append_bulk(std::string& out, std::int64_t number);

/// One command (or several, each with a reply of its own: see then()), already in wire form.
class Command {
 public:
  explicit Command(std::string_view name);

  Command& arg(std::string_view bytes);
  template <std::integral T>
  Command& arg(T number) {
    return arg_number(static_cast<std::int64_t>(number));
  }
  /// Starts a further command in the same write; the handler gets the LAST one's reply, the replies
  /// before it are dropped, but the first error reply among them (e.g. NOSCRIPT) wins over it.
  /// `Command("MULTI").then("XACK").arg(..).then("EXEC")`
  Command& then(std::string_view name);

  std::size_t replies() const { return commands_; }
  std::size_t size() const;
  /// Appends the wire form to `out`.
  void write_to(std::string& out) const;

 private:
  Command& arg_number(std::int64_t number);
  void close_current();
  std::string done_;     // complete commands before the current one
  std::string current_;  // bulks of the current command
  std::size_t current_args_ = 0;
  std::size_t commands_ = 1;
};

}  // namespace penstock::resp
