#include "api/event_thread.hpp"

#include <future>
#include <pthread.h>
#include <signal.h>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "redis/asio_executor.hpp"

namespace penstock::api {

class EventThread::Impl {
 public:
  Impl() : guard(boost::asio::make_work_guard(io)), executor(io) {
    // Signals are for the user's threads: none interrupts an engine thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread = std::thread([this] { io.run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard;
  redis::AsioExecutor executor;
  std::thread thread;
};

EventThread::EventThread() : impl_(std::make_unique<Impl>()) {}
EventThread::~EventThread() { stop(); }

base::Executor& EventThread::executor() { return impl_->executor; }
boost::asio::io_context& EventThread::io() { return impl_->io; }

void EventThread::call(const std::function<void()>& fn) {
  std::promise<void> done;
  impl_->executor.post([&] {
    fn();
    done.set_value();
  });
  done.get_future().wait();
}

void EventThread::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->io.stop();
  impl_->thread.join();
}

}  // namespace penstock::api
