#pragma once

#include <memory>

#include "base/executor.hpp"

namespace boost::asio {
class io_context;
}

namespace penstock::redis {

/// base::Executor over an io_context that one thread runs. What is not yet run when it is destroyed
/// never runs. A scheduled function keeps io_context::run() from returning until its time has come.
class AsioExecutor final : public base::Executor {
 public:
  explicit AsioExecutor(boost::asio::io_context& io);
  ~AsioExecutor() override;
  AsioExecutor(const AsioExecutor&) = delete;
  AsioExecutor& operator=(const AsioExecutor&) = delete;

  base::MonoTime now() const override;
  void post(std::function<void()> fn) override;
  void schedule(base::MonoTime at, std::function<void()> fn) override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock::redis
