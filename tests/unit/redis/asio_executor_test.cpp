#include "redis/asio_executor.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

namespace penstock::redis {
namespace {

using std::chrono::milliseconds;

TEST(AsioExecutor, runs_in_order_of_time_and_of_calls) {
  boost::asio::io_context io(1);
  AsioExecutor executor(io);
  std::string order;
  const auto at = executor.now() + milliseconds(20);
  executor.schedule(at + milliseconds(10), [&] { order += 'd'; });
  executor.schedule(at, [&] { order += 'b'; });
  executor.schedule(at, [&] { order += 'c'; });
  executor.post([&] { order += 'a'; });
  io.run_for(std::chrono::seconds(5));
  EXPECT_EQ(order, "abcd");
  EXPECT_GE(executor.now(), at + milliseconds(10));
}

TEST(AsioExecutor, an_earlier_time_is_not_held_up_by_a_later_one) {
  boost::asio::io_context io(1);
  AsioExecutor executor(io);
  const auto start = executor.now();
  auto ran = start;
  executor.schedule(start + std::chrono::hours(1), [] {});
  executor.schedule(start + milliseconds(500), [&] {
    executor.schedule(executor.now() + milliseconds(10), [&] { io.stop(); });
  });
  executor.schedule(start + milliseconds(20), [&] { ran = executor.now(); });
  io.run_for(std::chrono::seconds(5));
  EXPECT_GE(ran, start + milliseconds(20));
  EXPECT_LT(ran, start + milliseconds(400));
}

TEST(AsioExecutor, may_be_called_from_any_thread) {
  boost::asio::io_context io(1);
  AsioExecutor executor(io);
  int ran = 0;  // touched by the loop's thread only
  executor.schedule(executor.now() + milliseconds(300), [] {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        executor.post([&] { ++ran; });
        executor.schedule(executor.now() + milliseconds((i * t) % 40), [&] { ++ran; });
      }
    });
  }
  io.run_for(std::chrono::seconds(5));
  for (std::thread& thread : threads) thread.join();
  io.restart();
  io.run_for(std::chrono::seconds(5));
  EXPECT_EQ(ran, 4000);
}

TEST(AsioExecutor, nothing_runs_after_its_end) {
  boost::asio::io_context io(1);
  bool ran = false;
  {
    AsioExecutor executor(io);
    executor.post([&] { ran = true; });
    executor.schedule(executor.now(), [&] { ran = true; });
    executor.schedule(executor.now() + std::chrono::hours(1), [&] { ran = true; });
  }
  const auto start = std::chrono::steady_clock::now();
  io.run_for(std::chrono::seconds(5));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace penstock::redis
