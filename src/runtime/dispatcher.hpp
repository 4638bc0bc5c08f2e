#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/actions.hpp"

namespace penstock::runtime {

/// Where handlers run: threads, or the simulator's virtual ones. All methods are thread-safe and
/// do not block.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  virtual void run(std::vector<engine::RunItem> items) = 0;
  /// Takes back what has not started; answers which. The others run or have ended.
  virtual std::vector<engine::Slot> retract(const std::vector<engine::Slot>& slots) = 0;
  virtual void stop(const std::vector<engine::StopItem>& items) = 0;
  virtual void extend(const std::vector<engine::ExtendItem>& items) = 0;
  /// Gives up the thread of a run. False: no spare thread takes its place.
  virtual bool abandon(engine::Slot slot) = 0;
  /// What runs now and since when.
  virtual std::vector<engine::Started> running() = 0;
  /// What has ended since the last call.
  virtual std::vector<engine::Finished> collect() = 0;
};

}  // namespace penstock::runtime
