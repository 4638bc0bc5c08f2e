// Three nodes, and every script and command of the store on each of them, for names of several
// forms: a key outside the stream's slot would be refused with CROSSSLOT or MOVED.
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "store/keys.hpp"
#include "store/redis/redis_store.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/scale.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using namespace store;  // NOLINT: the test speaks of nothing else
using base::Done;
using base::Result;
using test::RedisServer;

std::string free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const bool ok = ::bind(fd, raw, size) == 0 && ::getsockname(fd, raw, &size) == 0;
  ::close(fd);
  if (!ok) throw std::runtime_error("no free port");
  return std::to_string(ntohs(address.sin_port));
}

/// One node; the port of its bus is a free one too, for port + 10000 may be none.
struct Node {
  std::string bus = free_port();
  RedisServer server{
      {.tcp = true, .arguments = {"--cluster-enabled", "yes", "--cluster-port", bus}}};
};

class Cluster {
 public:
  Cluster() {
    for (auto& node : nodes_) node = std::make_unique<Node>();
    const std::array<std::array<std::string, 2>, 3> ranges{
        {{"0", "5460"}, {"5461", "10922"}, {"10923", "16383"}}};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ask(i, {"CLUSTER", "ADDSLOTSRANGE", ranges[i][0], ranges[i][1]});
      ask(i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    }
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      ask(0, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i]->server.port()),
              nodes_[i]->bus});
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) wait_until_ok(i);
  }

  test::Value ask(std::size_t node, const std::vector<std::string>& args) {
    test::Value reply = nodes_[node]->server.cli(args);
    if (reply.is_error()) throw std::runtime_error(args[0] + ": " + reply.text);
    return reply;
  }
  RedisServer& server(std::size_t node) { return nodes_[node]->server; }
  std::size_t node_of(const std::string& key) {
    const long long slot = ask(0, {"CLUSTER", "KEYSLOT", key}).integer;
    return slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
  }

 private:
  void wait_until_ok(std::size_t node) {
    const auto end = std::chrono::steady_clock::now() + test::scaled(20s);
    while (true) {
      const std::string info = ask(node, {"CLUSTER", "INFO"}).text;
      if (info.find("cluster_state:ok") != std::string::npos &&
          info.find("cluster_known_nodes:3") != std::string::npos) {
        return;
      }
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error(info);
      ::usleep(20'000);
    }
  }

  std::array<std::unique_ptr<Node>, 3> nodes_;
};

class ClusterSmoke : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster = std::make_unique<Cluster>(); }
  static void TearDownTestSuite() { cluster.reset(); }

  void connect(std::size_t node) {
    redis::Config config;
    config.host = "127.0.0.1";
    config.port = static_cast<std::uint16_t>(cluster->server(node).port());
    store_ = make_redis_store(io_, config, std::make_shared<std::atomic<std::uint64_t>>(0));
  }
  /// Calls and turns the loop until the answer is there.
  template <class T, class F>
  Result<T> answer(F&& call) {
    auto slot = std::make_shared<std::optional<Result<T>>>();
    call(Done<T>([slot](Result<T> result) { slot->emplace(std::move(result)); }));
    const auto end = std::chrono::steady_clock::now() + test::scaled(10s);
    while (!slot->has_value()) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("never answered");
      io_.run_one_for(100ms);
    }
    return std::move(**slot);
  }
  template <class T, class F>
  T get(F&& call) {
    Result<T> result = answer<T>(std::forward<F>(call));
    if (result.has_error()) throw std::runtime_error(result.error().text);
    return std::move(result.value());
  }

  void run_everything(const Lane& lane);

  static std::unique_ptr<Cluster> cluster;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::unique_ptr<Store> store_;
};
std::unique_ptr<Cluster> ClusterSmoke::cluster;

void ClusterSmoke::run_everything(const Lane& lane) {
  Store& s = *store_;
  EXPECT_TRUE(get<Opened>([&](auto done) { s.open(lane, {}, done); }).group_made);
  const std::vector<Draft> drafts(4, Draft{{{"body", "x"}}});
  get<std::vector<Result<EntryId>>>([&](auto done) { s.append(lane.stream, drafts, done); });
  const auto batch = get<BatchPtr>([&](auto done) { s.take(lane, {10, 100ms}, done); });
  ASSERT_EQ(batch->entries.size(), 4u);
  std::vector<Receipt> held;
  for (const Taken& entry : batch->entries) held.push_back({entry.id, entry.delivery});
  EXPECT_EQ(get<std::vector<RenewStatus>>([&](auto done) { s.renew(lane, held, done); }),
            std::vector<RenewStatus>(4, RenewStatus::renewed));
  Registration row;
  row.lease_ms = 60'000;
  get<Nothing>([&](auto done) { s.enlist(lane, row, done); });

  std::vector<Settlement> ends(3);
  for (std::size_t i = 0; i < 3; ++i) ends[i].receipt = held[i];
  ends[1].kind = Settlement::Kind::park;
  ends[1].note.attempts = 1;
  ends[2].kind = Settlement::Kind::dead;
  ends[2].reason = "attempts";
  EXPECT_EQ(get<std::vector<SettleStatus>>(
                [&](auto done) { s.settle(lane, ends, Retention::delete_on_ack, done); }),
            std::vector<SettleStatus>(3, SettleStatus::done));
  const auto tick = get<TickReply>([&](auto done) { s.tick(lane, 10, done); });
  EXPECT_EQ(tick.due, std::vector<EntryId>{held[1].id});
  EXPECT_EQ(tick.parked, 1);
  EXPECT_EQ(get<std::vector<PendingRow>>([&](auto done) { s.pending(lane, {}, 10, done); }).size(),
            2u);
  const auto claimed = get<ClaimReply>([&](auto done) {
    s.claim(lane, {ClaimItem{held[1].id, std::string(parked_consumer), -1, 0}}, done);
  });
  ASSERT_EQ(claimed.status, std::vector{ClaimStatus::claimed});
  EXPECT_EQ(claimed.batch->notes.at(0).attempts, 1);
  EXPECT_EQ(get<AckReply>([&](auto done) {
              s.ack(lane, {held[1].id, held[3].id}, Retention::delete_on_ack, done);
            }).acked,
            2);
  PeekRequest ask;
  EXPECT_EQ(get<PeekReply>([&](auto done) { s.peek(lane, ask, done); }).workers.size(), 1u);
  EXPECT_TRUE(get<bool>([&](auto done) { s.forget(lane, lane.consumer, done); }));
  get<std::int64_t>([&](auto done) { s.trim(lane.stream, done); });
  const auto survey = get<Survey>([&](auto done) { s.survey(lane.stream, done); });
  EXPECT_EQ(survey.dead, 1);
  EXPECT_EQ(survey.length, 0);
}

TEST_F(ClusterSmoke, T56_no_script_crosses_slots) {
  std::set<std::size_t> nodes;
  std::size_t streams = 0;
  for (const std::string name : {"orders", "refunds", "invoices", "mail", "{tag}jobs", "a{b}c",
                                 "x{y}", "open{brace", "{}"}) {
    if (untaggable(name)) continue;
    const std::size_t node = cluster->node_of(name);
    nodes.insert(node);
    ++streams;
    SCOPED_TRACE(name + " on node " + std::to_string(node));
    connect(node);
    // The group's name is part of keys: its braces must not become their tag.
    run_everything({name, "g{other}", "worker.0000000a"});
  }
  EXPECT_EQ(nodes.size(), 3u) << "every node had a stream";
  EXPECT_EQ(streams, 8u);
}

TEST_F(ClusterSmoke, the_cluster_refuses_what_crosses_slots) {
  const auto reply = cluster->server(0).cli("EVAL", "return 1", "2", "orders", "refunds");
  EXPECT_EQ(reply.text.substr(0, 9), "CROSSSLOT") << "else the test above would show nothing";
}

TEST_F(ClusterSmoke, a_name_that_cannot_carry_a_tag_is_refused_in_words) {
  connect(0);
  OpenRequest request;
  const auto refused = answer<Opened>(
      [&](auto done) { store_->open({"a}b", "g", "worker.0000000a"}, request, done); });
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, errc::bad_option);
  EXPECT_NE(refused.error().text.find("a}b"), std::string::npos);
  RedisServer single;
  redis::Config config;
  config.unix_path = single.socket_path();
  store_ = make_redis_store(io_, config, std::make_shared<std::atomic<std::uint64_t>>(0));
  EXPECT_TRUE(answer<Opened>([&](auto done) {
                store_->open({"a}b", "g", "worker.0000000a"}, request, done);
              }).has_value());
}

}  // namespace
}  // namespace penstock
