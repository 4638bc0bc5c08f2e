#pragma once

#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "runtime/dispatcher.hpp"
#include "simulation/faulty_store.hpp"

namespace penstock::simulation {

/// Handler threads under virtual time. How long a run takes, how it ends and whether it listens to
/// a stop is drawn when it begins. Keeps the contract of runtime/handler_pool.hpp.
class SimDispatcher final : public runtime::Dispatcher {
 public:
  SimDispatcher(Network& network, Link& link, store::Lane lane);

  /// `ended`: something is there to collect. `held`: what the lane holds now, for the bound.
  void connect(std::function<void()> ended, std::function<std::size_t()> held);

  void run(std::vector<engine::RunItem> items) override;
  std::vector<engine::Slot> retract(const std::vector<engine::Slot>& slots) override;
  void stop(const std::vector<engine::StopItem>& items) override;
  void extend(const std::vector<engine::ExtendItem>& items) override;
  bool abandon(engine::Slot slot) override;
  std::vector<engine::Started> running() override;
  std::vector<engine::Finished> collect() override;

  std::uint64_t runs() const { return next_run_; }

 private:
  struct Run {
    engine::Slot slot;
    store::EntryId id;
    RunPtr record;
    bool listens = true;  ///< to a request to stop
    bool stopping = false;
  };

  void wake_threads();
  void begin_queued();
  void begin(const engine::RunItem& item);
  void draw(Run& run, MonoDuration* takes);
  void draw_end(RunRecord& record);
  void end(std::uint64_t number);
  std::map<std::uint64_t, Run>::iterator find(engine::Slot slot);

  Network& net_;
  Link& link_;
  const store::Lane lane_;
  std::function<void()> ended_;
  std::function<std::size_t()> held_;
  std::size_t seats_, spares_;
  std::deque<engine::RunItem> queue_;
  std::map<std::uint64_t, Run> running_;  ///< those that were given up, too
  std::vector<engine::Finished> finished_;
  std::vector<std::pair<engine::Slot, RunPtr>> just_ended_;  ///< those in finished_
  std::uint64_t next_run_ = 0;
  bool woken_ = false;
};

}  // namespace penstock::simulation
