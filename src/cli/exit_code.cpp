#include "cli/exit_code.hpp"

namespace penstock::cli {

int exit_code_of(errc code) {
  switch (code) {
    case errc::ok:
      return exit_code::ok;
    case errc::bad_option:
    case errc::auth_failed:
    case errc::no_permission:
    case errc::wrong_type:
      return exit_code::config;
    case errc::unreachable:
    case errc::connection_lost:
    case errc::timed_out:
    case errc::read_only:
    case errc::server_busy:
    case errc::cluster_moved:
      return exit_code::unreachable;
    default:
      return exit_code::failed;
  }
}

}  // namespace penstock::cli
