#pragma once

#include <chrono>
#include <functional>

namespace boost::asio {
class io_context;
}

namespace penstock::store {

/// The two things the store wants of its event loop; only loop.cpp pays for Asio's headers.
void post(boost::asio::io_context& io, std::function<void()> fn);
/// Answers what takes it back.
std::function<void()> after(boost::asio::io_context& io, std::chrono::milliseconds delay,
                            std::function<void()> fn);

}  // namespace penstock::store
