#include "store/redis/loop.hpp"

#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace penstock::store {

void post(boost::asio::io_context& io, std::function<void()> fn) {
  boost::asio::post(io, std::move(fn));
}

std::function<void()> after(boost::asio::io_context& io, std::chrono::milliseconds delay,
                            std::function<void()> fn) {
  // The flag: cancel() does not reach a wait that has ended and only waits for its turn.
  struct Wait {
    boost::asio::steady_timer timer;
    bool wanted = true;
  };
  auto wait = std::make_shared<Wait>(Wait{boost::asio::steady_timer(io, delay)});
  wait->timer.async_wait([wait, fn = std::move(fn)](const boost::system::error_code& error) {
    if (!error && wait->wanted) fn();
  });
  return [wait] {
    wait->wanted = false;
    wait->timer.cancel();
  };
}

}  // namespace penstock::store
