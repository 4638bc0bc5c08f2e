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
  auto timer = std::make_shared<boost::asio::steady_timer>(io, delay);
  timer->async_wait([timer, fn = std::move(fn)](const boost::system::error_code& error) {
    if (!error) fn();
  });
  return [timer] { timer->cancel(); };
}

}  // namespace penstock::store
