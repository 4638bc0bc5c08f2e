#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "redis/config.hpp"

namespace penstock::redis {

using Protocol = boost::asio::generic::stream_protocol;
using Socket = Protocol::socket;

/// Resolves and connects, address after address. One use. The owner bounds its time and ends it
/// with cancel(); then the callback is not called.
class Connector : public std::enable_shared_from_this<Connector> {
 public:
  /// An empty text is success.
  using Done = std::function<void(std::string error)>;

  Connector(boost::asio::io_context& io, Socket& socket) : resolver_(io), socket_(socket) {}
  void start(const Config& config, Done done);
  void cancel();

 private:
  void try_next();
  void finish(std::string error);

  boost::asio::ip::tcp::resolver resolver_;
  Socket& socket_;
  std::vector<Protocol::endpoint> endpoints_;
  std::size_t next_ = 0;
  std::string last_error_ = "the name has no address";
  Done done_;
};

}  // namespace penstock::redis
