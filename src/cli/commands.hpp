#pragma once

#include <string_view>

#include "cli/command.hpp"

namespace penstock::cli {

/// Each runs its command and returns the exit code. They throw penstock::Error.
int run_send(const SendCommand& command);
int run_work(const WorkCommand& command);
int run_show(const ShowCommand& command);
int run_pending(const PendingCommand& command);

/// To standard output; false once it is broken.
bool print(std::string_view text);
/// Flushes; the exit code: `code`, or io_error where standard output broke.
int finish_output(int code);
/// `penstock: text` to standard error, escaped.
void complain(std::string_view text);
/// Colours are for terminals, and for those who want them (NO_COLOR).
bool wants_colour();

}  // namespace penstock::cli
