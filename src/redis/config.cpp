#include "redis/config.hpp"

#include <charconv>
#include <optional>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

namespace penstock::redis {

namespace {

// sizeof(sockaddr_un::sun_path) - 1
constexpr std::size_t unix_path_max = 107;
constexpr int db_max = 1'000'000;

base::Failure bad(std::string text) { return {errc::bad_option, std::move(text)}; }

std::optional<int> parse_small(std::string_view text, int max) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0 || value > max || text[0] == '-') {
    return std::nullopt;
  }
  return value;
}

std::optional<base::Failure> set_db(Config& config, std::string_view text) {
  const auto db = parse_small(text, db_max);
  if (!db) {
    return bad("URL: the database must be a number from 0 to " + std::to_string(db_max) +
               ", not '" + std::string(text) + "'");
  }
  config.db = *db;
  return std::nullopt;
}

base::Result<Config> parse_tcp(const boost::urls::url_view& url) {
  Config config;
  if (!url.has_authority()) return bad("URL: write redis://host:port");
  if (url.has_query()) {
    const auto params = url.params();
    const std::string key = params.empty() ? std::string() : std::string((*params.begin()).key);
    return bad("URL: redis:// takes no query key; unknown key '" + key + "'");
  }
  if (!url.host_address().empty()) config.host = url.host_address();
  if (url.has_port() && !url.port().empty()) {
    const auto port = parse_small(url.port(), 65535);
    if (!port || *port == 0) {
      return bad("URL: the port must be a number from 1 to 65535, not '" + std::string(url.port()) +
                 "'");
    }
    config.port = static_cast<std::uint16_t>(*port);
  }
  config.user = url.user();
  config.password = url.password();
  const std::string path = url.path();
  if (path.size() > 1) {
    if (auto failure = set_db(config, std::string_view(path).substr(1))) return *failure;
  }
  return config;
}

base::Result<Config> parse_unix(const boost::urls::url_view& url) {
  Config config;
  if (!url.encoded_authority().empty() || url.path().size() < 2) {
    return bad("URL: write unix:///absolute/path/to.sock (three slashes)");
  }
  config.unix_path = url.path();
  if (config.unix_path.size() > unix_path_max || config.unix_path.find('\0') != std::string::npos) {
    return bad("URL: a unix socket's path has at most " + std::to_string(unix_path_max) +
               " bytes and no NUL");
  }
  for (const auto& param : url.params()) {
    const std::string value(param.value);
    if (param.key == "user") {
      config.user = value;
    } else if (param.key == "password") {
      config.password = value;
    } else if (param.key == "db") {
      if (auto failure = set_db(config, value)) return *failure;
    } else {
      return bad("URL: unknown query key '" + std::string(param.key) +
                 "'; unix:// knows db, user and password");
    }
  }
  return config;
}

}  // namespace

base::Result<Config> parse_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) {
    return bad("URL: no scheme; write redis://host:port or unix:///path/to.sock");
  }
  const std::string scheme(text.substr(0, colon));
  if (scheme == "rediss" || scheme == "redis+sentinel" || scheme == "redis+cluster") {
    return bad("URL: " + scheme + ":// is not supported yet in this version");
  }
  if (scheme != "redis" && scheme != "unix") {
    return bad("URL: unknown scheme '" + scheme.substr(0, 32) +
               "'; use redis://host:port or unix:///path/to.sock");
  }
  const auto url = boost::urls::parse_uri(boost::urls::string_view(text.data(), text.size()));
  // The text itself may hold a password: the message never quotes it.
  if (url.has_error()) {
    return bad(
        "URL: not a valid URL (special characters in user or password must be written %XX): " +
        url.error().message());
  }
  if (url->has_fragment()) return bad("URL: '#...' is not allowed; write %23 for a '#'");
  auto config = scheme == "redis" ? parse_tcp(*url) : parse_unix(*url);
  if (config && !config->user.empty() && config->password.empty()) {
    return bad("URL: a user needs a password (redis://user:password@host)");
  }
  return config;
}

std::string redacted(const Config& config) {
  const bool login = !config.user.empty() || !config.password.empty();
  std::string out;
  if (!config.unix_path.empty()) {
    out = "unix://" + config.unix_path;
    if (config.db != 0) out += "?db=" + std::to_string(config.db);
    if (login) {
      out += config.db != 0 ? "&" : "?";
      out += "user=" + config.user + "&password=***";
    }
    return out;
  }
  out = "redis://";
  if (login) out += config.user + ":***@";
  const bool v6 = config.host.find(':') != std::string::npos;
  out += (v6 ? "[" + config.host + "]" : config.host) + ":" + std::to_string(config.port);
  if (config.db != 0) out += "/" + std::to_string(config.db);
  return out;
}

}  // namespace penstock::redis
