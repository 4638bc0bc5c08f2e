#include "resp/command.hpp"

#include <charconv>

namespace penstock::resp {

namespace {

void append_header(std::string& out, char type, std::size_t value) {
  char text[24];
  text[0] = type;
  char* end = std::to_chars(text + 1, text + sizeof text - 2, value).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(text, static_cast<std::size_t>(end - text));
}

std::string_view to_text(std::int64_t number, char (&room)[24]) {
  const char* end = std::to_chars(room, room + sizeof room, number).ptr;
  return {room, static_cast<std::size_t>(end - room)};
}

}  // namespace

void append_array_header(std::string& out, std::size_t count) { append_header(out, '*', count); }

void append_bulk(std::string& out, std::string_view bytes) {
  append_header(out, '$', bytes.size());
  out.append(bytes);
  out.append("\r\n", 2);
}

void append_bulk(std::string& out, std::int64_t number) {
  char room[24];
  append_bulk(out, to_text(number, room));
}

Command::Command(std::string_view name) { arg(name); }

Command& Command::arg(std::string_view bytes) {
  append_bulk(current_, bytes);
  ++current_args_;
  return *this;
}

Command& Command::arg_number(std::int64_t number) {
  char room[24];
  return arg(to_text(number, room));
}

Command& Command::then(std::string_view name) {
  close_current();
  ++commands_;
  return arg(name);
}

void Command::close_current() {
  append_array_header(done_, current_args_);
  done_ += current_;
  current_.clear();
  current_args_ = 0;
}

std::size_t Command::size() const {
  std::size_t digits = 1;
  for (std::size_t n = current_args_; n > 9; n /= 10) ++digits;
  return done_.size() + 3 + digits + current_.size();
}

void Command::write_to(std::string& out) const {
  out += done_;
  append_array_header(out, current_args_);
  out += current_;
}

}  // namespace penstock::resp
