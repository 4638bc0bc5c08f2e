#pragma once

#include <penstock/error.hpp>

namespace penstock::cli {

/// What the program ends with (docs/program.md). The numbers of sysexits.h where they fit.
namespace exit_code {
inline constexpr int ok = 0;
inline constexpr int failed = 1;        ///< a refusal by the server that none of the others names
inline constexpr int usage = 64;        ///< the command line cannot be read
inline constexpr int unreachable = 69;  ///< no server, or it cannot serve now
inline constexpr int hung = 70;         ///< all handler slots hang
inline constexpr int io_error = 74;     ///< standard input or output broke
inline constexpr int not_drained = 75;  ///< closing took longer than --drain
inline constexpr int config = 78;       ///< knobs, credentials, rights or the command cannot work
}  // namespace exit_code

/// Where a failed call of the library leads.
int exit_code_of(errc code);

}  // namespace penstock::cli
