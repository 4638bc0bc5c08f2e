#pragma once

#include <functional>

#include "base/time.hpp"

namespace penstock::base {

/// One event loop, real (Asio) or virtual (simulator). Functions run one at a time, in order of
/// their time, on the loop's own thread. post and schedule may be called from any thread.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual MonoTime now() const = 0;
  virtual void post(std::function<void()> fn) = 0;
  /// Runs fn at `at` or soon after. Not cancellable: the function checks whether it still matters.
  virtual void schedule(MonoTime at, std::function<void()> fn) = 0;
};

}  // namespace penstock::base
