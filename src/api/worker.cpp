#include <utility>

#include <penstock/worker.hpp>

#include "api/worker_impl.hpp"

namespace penstock {

Worker::Worker(std::string url, WorkerOptions options)
    : impl_(std::make_unique<Impl>(std::move(url), std::move(options))) {}
Worker::~Worker() = default;

Worker& Worker::add(std::string stream, HandlerOptions options, Handler handler) {
  impl_->add(std::move(stream), std::move(options), std::move(handler));
  return *this;
}

void Worker::start() { impl_->start(); }
bool Worker::stop() { return impl_->stop(); }
int Worker::run() { return impl_->run(); }
WorkerStats Worker::stats() const { return impl_->stats(); }

}  // namespace penstock
