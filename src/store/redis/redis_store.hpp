#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "redis/config.hpp"
#include "store/store.hpp"

namespace boost::asio {
class io_context;
}

namespace penstock::store {

/// A session on a Redis server: one connection for commands, one more for each lane that reads.
/// Everything runs on the io_context's single thread. `epoch` is shared by a worker's sessions: it
/// rises whenever any of their connections was made anew after its first time.
std::unique_ptr<Store> make_redis_store(boost::asio::io_context& io, redis::Config config,
                                        std::shared_ptr<std::atomic<std::uint64_t>> epoch);

}  // namespace penstock::store
