#include "simulation/worker.hpp"

namespace penstock::simulation {

void World::Worker::add_lane(const std::string& stream, const std::string& group,
                             std::function<void()> drained) {
  auto lane = std::make_unique<Lane>();
  engine::LaneConfig config = net.plan.lane;
  config.lane = {stream, group, link.condition.consumer};
  config.seed = net.rng.next();
  store::Registration row;
  row.consumer = config.lane.consumer;
  row.lease_ms = std::chrono::duration_cast<std::chrono::milliseconds>(config.lease).count();
  row.host = "simulated";
  lane->dispatcher = std::make_unique<SimDispatcher>(net, link, config.lane);
  runtime::LaneHost host;
  host.log = [this](engine::Severity, const std::string& text) {
    net.trace.add(net.loop.now(), link.condition.consumer, "log", {}, 0, text);
  };
  host.fatal = [this](const base::Failure& f) { net.checker.fail("a fatal answer: " + f.text); };
  host.drained = std::move(drained);
  host.opened = [](store::ServerMs) {};
  lane->driver = std::make_shared<runtime::LaneDriver>(
      std::move(config), std::move(row), runtime::Session{&main, &link.process},
      runtime::Session{&renewal, &link.process}, *lane->dispatcher, std::move(host));
  std::weak_ptr<runtime::LaneDriver> weak = lane->driver;
  lane->dispatcher->connect([weak] { weak.lock()->notify_finished(); },
                            [weak] { return weak.lock()->snapshot().held; });
  lane->driver->start();
  lanes.push_back(std::move(lane));
  ++lanes_left;
}

std::uint64_t World::Worker::runs() const {
  std::uint64_t all = 0;
  for (const auto& lane : lanes) all += lane->dispatcher->runs();
  return all;
}

}  // namespace penstock::simulation
