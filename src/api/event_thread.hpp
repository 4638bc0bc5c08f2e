#pragma once

#include <memory>

#include "base/executor.hpp"

namespace boost::asio {
class io_context;
}

namespace penstock::api {

/// An event loop and the thread that runs it, from construction to stop().
class EventThread {
 public:
  EventThread();
  ~EventThread();
  EventThread(const EventThread&) = delete;
  EventThread& operator=(const EventThread&) = delete;

  base::Executor& executor();
  boost::asio::io_context& io();
  /// Runs fn on the loop and waits until it has returned. Not from the loop's own thread.
  void call(const std::function<void()>& fn);
  /// Ends the loop and joins. What is queued does not run any more.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::api
