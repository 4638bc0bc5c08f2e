#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <penstock/message.hpp>
#include <penstock/outcome.hpp>

#include "runtime/dispatcher.hpp"
#include "runtime/message_data.hpp"

namespace penstock::runtime {

/// The threads of one subscription's handler. Work is handed over in chunks: a thread takes several
/// runs at once where runs are short, and an idle thread takes the rest of a chunk whose run lasts.
/// User code runs here and, for stop callbacks, on the pool's notifier thread; nowhere else.
class HandlerPool : public Dispatcher {
 public:
  using Handler = std::function<Outcome(const Message&, std::stop_token)>;

  /// `ended`: called from handler threads when there is something to collect; at most once until
  /// collect() was called. `group_epoch` is asked when runs arrive.
  HandlerPool(std::shared_ptr<const store::Lane> lane, Handler handler, std::size_t threads,
              std::function<void()> ended);
  ~HandlerPool() override;

  /// Ends the threads. Those still inside a handler at `until` are left behind (false).
  bool shut_down(base::MonoTime until);
  void set_group_epoch(store::ServerMs epoch);
  std::uint64_t started_total() const;

  void run(std::vector<engine::RunItem> items) override;
  std::vector<engine::Slot> retract(const std::vector<engine::Slot>& slots) override;
  void stop(const std::vector<engine::StopItem>& items) override;
  void extend(const std::vector<engine::ExtendItem>& items) override;
  bool abandon(engine::Slot slot) override;
  std::vector<engine::Started> running() override;
  std::vector<engine::Finished> collect() override;

 private:
  enum RunState : std::uint8_t { queued, begun, taken_back };
  struct Run {
    engine::Slot slot;
    std::shared_ptr<const detail::MessageData> data;
    std::uint32_t index = 0;
    std::atomic<std::uint8_t> state{queued};
    std::atomic<base::MonoTime::rep> start_before{0};
  };
  using Block = std::vector<Run>;
  /// Part of a block that waits, or that a thread has taken.
  struct Chunk {
    std::shared_ptr<Block> block;
    std::size_t next = 0, end = 0;
    std::size_t size() const { return end - next; }
  };
  struct Seat;    // one handler thread
  struct Shared;  // what threads that are left behind may still touch
  struct Place {
    std::shared_ptr<Block> block;
    std::size_t index = 0;
  };

  void add_seat();
  Run* find(engine::Slot slot);
  static void notify_stops(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<const store::Lane> lane_;
  std::mutex places_mutex_;
  std::vector<Place> places_;  ///< by slot index: where its run lies
  std::size_t spares_;
  std::thread notifier_;
  bool down_ = false;
};

}  // namespace penstock::runtime
