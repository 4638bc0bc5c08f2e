#pragma once

#include <string>
#include <system_error>

namespace penstock {

/// What went wrong, as a class of error: what a caller can do differs by class, not by text.
enum class errc {
  ok = 0,
  bad_option,       ///< an option, URL or argument cannot work; nothing was changed
  unreachable,      ///< the server could not be reached; nothing was sent
  connection_lost,  ///< the line broke after sending: the outcome is unknown
  timed_out,        ///< no answer in time: the outcome is unknown
  auth_failed,      ///< WRONGPASS or NOAUTH: the credentials are refused
  no_permission,    ///< NOPERM: the ACL does not allow the command or key named in the text
  wrong_type,       ///< the key holds something other than a stream (or our own structure)
  group_lost,       ///< NOGROUP or UNBLOCKED: the stream or its group is gone
  storage_full,     ///< OOM: the server refuses writes that need memory
  read_only,        ///< READONLY or MASTERDOWN: this server is no master any more
  server_busy,      ///< LOADING, BUSY, MISCONF, NOREPLICAS, max clients...: later it works
  cluster_moved,    ///< MOVED, ASK, TRYAGAIN, CLUSTERDOWN, CROSSSLOT
  script_missing,   ///< NOSCRIPT: the server forgot the script (handled inside)
  rejected,         ///< any other error reply; the text is the server's
  protocol_error,   ///< the server's bytes are no valid reply; the connection was closed
  would_exceed,     ///< a limit of ours refuses it (backlog, size); nothing was sent
  lease_lost,       ///< the delivery no longer holds its lease; nothing was changed
  closed,           ///< the object was stopped before or while the call ran
  internal          ///< a fault of penstock itself: please report it
};

/// The one category of penstock's error codes.
const std::error_category& error_category() noexcept;
std::error_code make_error_code(errc code) noexcept;

/// May the same call succeed later with nothing changed by the user?
bool retryable(errc code) noexcept;
/// Will it fail until somebody changes configuration, credentials or rights?
bool fatal(errc code) noexcept;

/// What public calls throw. what() says what happened and what to do about it.
class Error : public std::system_error {
 public:
  Error(errc code, const std::string& text);
  errc kind() const noexcept { return kind_; }
  bool retryable() const noexcept { return penstock::retryable(kind_); }
  bool fatal() const noexcept { return penstock::fatal(kind_); }

 private:
  errc kind_;
};

}  // namespace penstock

template <>
struct std::is_error_code_enum<penstock::errc> : std::true_type {};
