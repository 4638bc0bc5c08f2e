#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "redis/connection.hpp"
#include "store/store.hpp"

namespace penstock::store {

/// The blocking reads of one lane, on a connection of their own.
class Reader : public std::enable_shared_from_this<Reader> {
 public:
  Reader(boost::asio::io_context& io, const redis::Config& config, Lane lane,
         std::shared_ptr<redis::Connection> commands,
         std::shared_ptr<std::atomic<std::uint64_t>> epoch);

  /// Before the first take: what must hold a reference to this object.
  void start();
  void take(TakeRequest request, Done<BatchPtr> done);
  void wake();
  void close();

 private:
  void connected(std::uint64_t generation, std::int64_t client_id);
  void end_on_server(std::int64_t client_id);
  void unblock(std::uint64_t turn);

  boost::asio::io_context& io_;
  Lane lane_;
  std::string name_;  ///< of its connections on the server, unlike all others
  redis::Connection link_;
  std::shared_ptr<redis::Connection> commands_;
  std::shared_ptr<std::atomic<std::uint64_t>> epoch_;
  std::int64_t client_ = 0;  ///< id of the last connection, to end it on the server when it was cut
  std::uint64_t turn_ = 0;   ///< number of the take that is out
  bool taking_ = false;
  bool waking_ = false;
  std::chrono::steady_clock::time_point waits_until_{};
};

}  // namespace penstock::store
