#include "support/redis_server.hpp"

#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

#include "support/eventually.hpp"

namespace penstock::test {
namespace {

using std::chrono::milliseconds;

TEST(RedisServer, answers_on_a_unix_socket_only) {
  RedisServer server;
  EXPECT_EQ(server.cli("PING").text, "PONG");
  EXPECT_EQ(server.port(), 0);
  EXPECT_EQ(server.info("server")["tcp_port"], "0");
  EXPECT_TRUE(server.cli("NOSUCH").is_error());
}

TEST(RedisServer, answers_on_a_port_of_its_own_and_keeps_it_over_a_restart) {
  RedisServer server({.tcp = true});
  RedisServer other({.tcp = true});
  EXPECT_NE(server.port(), other.port());
  const int port = server.port();
  RedisClient client = RedisClient::tcp("127.0.0.1", port, std::chrono::seconds(5));
  EXPECT_EQ(client.command({"PING"}).text, "PONG");
  server.restart(Data::empty);
  EXPECT_EQ(server.port(), port);
  EXPECT_THROW(client.command({"PING"}), std::runtime_error) << "the old connection is dead";
}

TEST(RedisServer, stream_helpers) {
  RedisServer server;
  EXPECT_EQ(server.xpending("s", "g"), -1);
  const std::string id = server.xadd("s", {{"body", std::string("a\0\r\nb", 5)}});
  EXPECT_EQ(server.xlen("s"), 1);
  server.cli("XGROUP", "CREATE", "s", "g", "0");
  EXPECT_EQ(server.xpending("s", "g"), 0);
  const Value read = server.cli("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">");
  EXPECT_EQ(read[0][1][0][1][1].text, std::string("a\0\r\nb", 5)) << read.str();
  EXPECT_EQ(server.xpending("s", "g"), 1);
  const auto rows = server.pending_rows("s", "g");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, id);
  EXPECT_EQ(rows[0].consumer, "c");
  EXPECT_EQ(rows[0].deliveries, 1);
  EXPECT_EQ(server.cli("XINFO", "STREAM", "s").at("length").integer, 1);
  EXPECT_THROW(server.xadd("s", {{"body", "x"}}, "0-1"), std::runtime_error);
}

TEST(RedisServer, kill9_and_restart_keep_or_empty) {
  RedisServer server({.appendonly = true});
  server.xadd("s", {{"n", "1"}});
  const pid_t first = server.pid();
  server.kill9();
  EXPECT_FALSE(alive(first));
  EXPECT_THROW(server.cli("PING"), std::runtime_error);
  server.start();
  EXPECT_EQ(server.xlen("s"), 1) << "written before the kill: the kernel has it";
  server.restart(Data::empty);
  EXPECT_EQ(server.xlen("s"), 0);
}

TEST(RedisServer, without_appendonly_a_restart_forgets) {
  RedisServer server;
  server.xadd("s", {{"n", "1"}});
  server.restart(Data::keep);
  EXPECT_EQ(server.xlen("s"), 0);
}

TEST(RedisServer, pause_hangs_and_resume_answers) {
  RedisServer server;
  RedisClient client = server.connect(milliseconds(50));
  server.pause();
  EXPECT_THROW(client.command({"PING"}), std::runtime_error);
  server.resume();
  EXPECT_EQ(server.cli("PING").text, "PONG");
}

TEST(RedisServer, counts_other_peoples_commands_only) {
  RedisServer server;
  server.cli("SET", "a", "1");
  EXPECT_EQ(server.commands_processed(), 0);
  RedisClient client = server.connect();
  client.pipeline({{"PING"}, {"SET", "a", "2"}, {"GET", "a"}});
  EXPECT_EQ(server.commands_processed(), 3);
  EXPECT_EQ(server.commands_processed(), 3);
  EXPECT_EQ(server.commandstats().at("set").calls, 2);
  EXPECT_GE(server.cpu_seconds(), 0.0);
  server.restart(Data::empty);
  EXPECT_EQ(server.commands_processed(), 0);
}

TEST(RedisServer, monitor_shows_scripts_inside_apart) {
  RedisServer server;
  Monitor monitor(server);
  server.cli("EVAL", "return redis.call('SET', KEYS[1], '1')", "1", "k");
  const auto lines = monitor.take();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("\"EVAL\""), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find(" lua] "), std::string::npos) << lines[1];
  EXPECT_TRUE(monitor.take().empty());
}

TEST(RedisServer, bad_argument_is_an_exception_with_the_servers_words) {
  try {
    RedisServer server({.arguments = {"--no-such-option", "1"}});
    FAIL() << "it started";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("no-such-option"), std::string::npos) << e.what();
  }
}

TEST(RedisServer, ends_with_its_owner) {
  pid_t pid = 0;
  std::filesystem::path socket;
  {
    const RedisServer server;
    pid = server.pid();
    socket = server.socket_path();
  }
  EXPECT_FALSE(alive(pid));
  EXPECT_FALSE(std::filesystem::exists(socket.parent_path()));
}

}  // namespace
}  // namespace penstock::test
