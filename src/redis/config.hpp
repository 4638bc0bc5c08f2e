#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace penstock::redis {

/// Where a server is and how to log in. Made from a URL; never printed with its password.
struct Config {
  std::string host = "localhost";
  std::uint16_t port = 6379;
  std::string unix_path;  ///< not empty: a unix socket instead of host and port
  std::string user;       ///< empty: the default user
  std::string password;
  int db = 0;
  std::string client_name = "penstock";

  std::chrono::milliseconds connect_timeout{2000};  ///< resolve, connect and handshake together
  std::chrono::milliseconds command_timeout{5000};  ///< unless a command brings its own
  /// A command that waits for a new connection has its whole time from then on: on a slow line a
  /// tight time-out would else end each new connection before its first reply.
  bool time_from_connected = false;
  std::chrono::milliseconds backoff_min{50};  ///< between connection attempts, with jitter
  std::chrono::milliseconds backoff_max{1000};
};

/// `redis://[user[:password]@]host[:port][/db]`, `unix:///path/to.sock[?db=n&user=u&password=p]`.
/// Percent-encoding is decoded. Errors are errc::bad_option and name the part that is wrong,
/// never the password.
base::Result<Config> parse_url(std::string_view url);

/// The URL again for messages: no password (`redis://user:***@host:port/db`).
std::string redacted(const Config& config);

}  // namespace penstock::redis
