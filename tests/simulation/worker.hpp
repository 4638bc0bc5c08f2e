#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/world.hpp"

namespace penstock::simulation {

/// One simulated process: what api/worker_start.cpp builds, on virtual threads and lines.
struct World::Worker {
  struct Lane {
    std::unique_ptr<SimDispatcher> dispatcher;
    std::shared_ptr<runtime::LaneDriver> driver;
  };

  Worker(Network& network, std::size_t at, std::string consumer)
      : net(network), link(network.loop), main(network, link), renewal(network, link), place(at) {
    link.condition.consumer = std::move(consumer);
    // Both of its ways were down before it was there: no lease of it is older.
    link.epoch = 1;
  }

  void add_lane(const std::string& stream, const std::string& group, std::function<void()> drained);
  std::uint64_t runs() const;

  Network& net;
  Link link;
  FaultyStore main, renewal;
  std::size_t place;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::size_t lanes_left = 0;
  bool closing = false;
};

}  // namespace penstock::simulation
