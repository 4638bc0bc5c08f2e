#include <penstock/error.hpp>

namespace penstock {

namespace {

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "penstock"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::ok:
        return "no error";
      case errc::bad_option:
        return "an option or argument cannot work";
      case errc::unreachable:
        return "the server cannot be reached";
      case errc::connection_lost:
        return "the connection broke; the outcome is unknown";
      case errc::timed_out:
        return "no answer in time; the outcome is unknown";
      case errc::auth_failed:
        return "the server refuses the credentials";
      case errc::no_permission:
        return "the server's ACL does not allow it";
      case errc::wrong_type:
        return "the key holds another type of value";
      case errc::group_lost:
        return "the stream or its consumer group is gone";
      case errc::storage_full:
        return "the server is out of memory for writes";
      case errc::read_only:
        return "the server is not a master";
      case errc::server_busy:
        return "the server cannot do it now";
      case errc::cluster_moved:
        return "the cluster keeps that key elsewhere";
      case errc::script_missing:
        return "the server forgot a script";
      case errc::rejected:
        return "the server refuses it";
      case errc::protocol_error:
        return "the server sent no valid reply";
      case errc::would_exceed:
        return "a limit would be exceeded";
      case errc::lease_lost:
        return "the lease is lost";
      case errc::closed:
        return "it is closed";
      case errc::internal:
        return "an internal fault of penstock";
    }
    return "unknown error";
  }
};

}  // namespace

const std::error_category& error_category() noexcept {
  static const Category category;
  return category;
}

std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

bool retryable(errc code) noexcept {
  switch (code) {
    case errc::unreachable:
    case errc::connection_lost:
    case errc::timed_out:
    case errc::group_lost:
    case errc::storage_full:
    case errc::read_only:
    case errc::server_busy:
    case errc::cluster_moved:
    case errc::script_missing:
    case errc::would_exceed:
    case errc::rejected:
    case errc::protocol_error:
      return true;
    default:
      return false;
  }
}

bool fatal(errc code) noexcept {
  return code == errc::bad_option || code == errc::auth_failed || code == errc::no_permission;
}

Error::Error(errc code, const std::string& text)
    : std::system_error(make_error_code(code), text), kind_(code) {}

}  // namespace penstock
