#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/lane_driver.hpp"
#include "simulation/faulty_store.hpp"
#include "simulation/sim_dispatcher.hpp"

namespace penstock::simulation {

/// What became of one seed.
struct Report {
  std::uint64_t seed = 0, hash = 0, events = 0, runs = 0;
  std::size_t messages = 0;
  MonoDuration virtual_time{0};
  FaultCounts faults{};
  std::string failure;  ///< empty: all promises held
};

/// One seed from its first event to its last: lanes of the production engine and driver on a
/// memory server, with everything around them simulated.
class World {
 public:
  World(const Plan& plan, Plant plant, bool print);
  ~World();

  Report run();

 private:
  struct Worker;

  std::string stream_name(std::size_t i) const { return "s" + std::to_string(i); }
  std::string group_name(std::size_t i) const { return "g" + std::to_string(i); }
  void append(std::size_t number);
  void start_worker(std::size_t place);
  void restart_later(std::size_t place);
  void lane_drained(Worker& worker);
  void close(Worker& worker);
  void kill(Worker& worker, std::string_view how);
  Worker* living(std::uint64_t draw);

  void strike(const Strike& strike);
  void strike_worker(const Strike& strike, Worker& worker);
  void strike_server(const Strike& strike);
  void after(MonoDuration wait, std::function<void()> fn);
  void refuse_writes(bool on);
  void heal();
  void settle_down();
  void close_all();
  void note(std::string_view who, std::string_view what);

  const Plan plan_;
  store::ServerMs skew_ms_ = 0;
  bool full_ = false;
  Trace trace_;
  Loop loop_;
  FaultCounts counts_{};
  std::shared_ptr<store::memory::MemoryServer> server_;
  Checker checker_;
  Network net_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< all that ever were: events may name them
  std::vector<Worker*> places_;                   ///< who works there now; null: nobody
  bool healed_ = false, ending_ = false;
};

Report run_seed(std::uint64_t seed, Plant plant, bool print);

}  // namespace penstock::simulation
