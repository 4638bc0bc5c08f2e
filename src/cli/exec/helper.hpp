#pragma once

#include <optional>

namespace penstock::cli::exec {

/// First thing in main(): where the arguments are a helper's, runs it and returns its exit code.
///
/// The helper starts the children of a worker and outlives it by a moment: when the worker is gone
/// in any way, SIGKILL included, it kills the process group of every child and ends. One thread,
/// no locks, so fork is safe in it.
std::optional<int> run_helper_if_asked(int argc, char** argv);

}  // namespace penstock::cli::exec
