#include <algorithm>
#include <gtest/gtest.h>

#include "harness.hpp"

namespace penstock::redis {
namespace {

using test::RespServer;
using Args = std::vector<std::string>;
using Answer = std::optional<RespServer::Answer>;

TEST(Connection, logs_in_then_pipelines_in_order) {
  RespServer server;
  Config config = config_for(server.port());
  config.user = "me";
  config.password = "pw";
  config.db = 3;
  Harness harness(config);
  for (int i = 0; i < 1000; ++i) harness.send(echo("m" + std::to_string(i)));
  EXPECT_EQ(harness.answered(), 0U);
  ASSERT_TRUE(harness.run_until_all());
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(harness.got(i)->text, "m" + std::to_string(i));
    ASSERT_EQ(harness.calls(i), 1);
  }
  const auto log = server.log();
  EXPECT_EQ(log[0].args, (Args{"AUTH", "me", "pw"}));
  EXPECT_EQ(log[1].args, (Args{"SELECT", "3"}));
  EXPECT_EQ(log[2].args, (Args{"CLIENT", "SETNAME", "penstock"}));
  EXPECT_EQ(log[3].args, (Args{"CLIENT", "ID"}));
  EXPECT_EQ(log[4].args, (Args{"PING"}));
  EXPECT_EQ(log[5].args, (Args{"ECHO", "m0"}));
  EXPECT_EQ(harness.connection().generation(), 1U);
  EXPECT_EQ(harness.connection().client_id(), 1);
  EXPECT_TRUE(harness.connection().connected());
  EXPECT_EQ(server.connections(), 1);
}

TEST(Connection, on_connected_comes_first_and_its_commands_too) {
  RespServer server;
  Harness harness(config_for(server.port()));
  std::uint64_t generation = 0;
  std::int64_t id = 0;
  harness.connection().on_connected([&](std::uint64_t g, std::int64_t i) {
    generation = g;
    id = i;
    harness.send(echo("first"));
  });
  EXPECT_EQ(harness.ask(echo("waited")).text, "waited");
  EXPECT_EQ(generation, 1U);
  EXPECT_EQ(id, 1);
  const auto log = server.log();
  ASSERT_EQ(log.size(), 5U);
  EXPECT_EQ(log[3].args[1], "first");
  EXPECT_EQ(log[4].args[1], "waited");
}

TEST(Connection, several_commands_give_the_last_reply_or_the_first_error) {
  RespServer server([](const Args& args, int) -> Answer {
    if (args[0] == "BAD") return RespServer::bytes("-NOSCRIPT gone\r\n");
    if (args[0] == "WORSE") return RespServer::bytes("-OOM full\r\n");
    return std::nullopt;
  });
  Harness harness(config_for(server.port()));
  const auto good = harness.ask(resp::Command("ECHO").arg("a").then("ECHO").arg("b"));
  EXPECT_EQ(good.text, "b");
  const auto bad = harness.ask(resp::Command("BAD").then("WORSE").then("ECHO").arg("c"));
  EXPECT_EQ(bad.code, errc::script_missing);
  EXPECT_EQ(bad.text, "NOSCRIPT gone");
  EXPECT_EQ(harness.ask(echo("d")).text, "d");
  EXPECT_EQ(harness.ask(resp::Command("WORSE")).code, errc::storage_full);
  EXPECT_EQ(harness.connection().generation(), 1U);
}

TEST(Connection, client_refused_by_the_acl_does_not_break_it) {
  RespServer server([](const Args& args, int) -> Answer {
    if (args[0] == "CLIENT" || args[0] == "PING") {
      return RespServer::bytes("-NOPERM this user has no permissions to run it\r\n");
    }
    return std::nullopt;
  });
  Harness harness(config_for(server.port()));
  EXPECT_EQ(harness.ask(echo("x")).text, "x");
  EXPECT_EQ(harness.connection().client_id(), 0);
}

TEST(Connection, auth_refused_is_its_own_class_and_never_shows_the_password) {
  for (const char* text :
       {"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
        "-ERR unknown command 'AUTH', with args beginning with: 'hunter2'\r\n"}) {
    RespServer server([text](const Args& args, int) -> Answer {
      if (args[0] == "AUTH") return RespServer::bytes(text);
      return std::nullopt;
    });
    Config config = config_for(server.port());
    config.password = "hunter2";
    Harness harness(config);
    const Got got = harness.ask(echo("x"));
    EXPECT_EQ(got.code, errc::auth_failed);
    EXPECT_EQ(got.text.find("hunter2"), std::string::npos) << got.text;
    // Inside the back-off: the same answer, without a further attempt.
    EXPECT_EQ(harness.ask(echo("y")).code, errc::auth_failed);
    EXPECT_EQ(server.connections(), 1);
    EXPECT_EQ(server.count("ECHO"), 0U);
  }
}

TEST(Connection, a_loading_or_full_server_is_a_failed_attempt_with_its_text) {
  for (const char* text :
       {"LOADING Redis is loading the dataset in memory", "ERR max number of clients reached"}) {
    RespServer server([text](const Args& args, int) -> Answer {
      if (args[0] == "PING") return RespServer::bytes("-" + std::string(text) + "\r\n");
      return std::nullopt;
    });
    Harness harness(config_for(server.port()));
    const Got got = harness.ask(echo("x"));
    EXPECT_EQ(got.code, errc::unreachable);
    EXPECT_NE(got.text.find(text), std::string::npos) << got.text;
    server.set_script(nullptr);
    harness.run_for(milliseconds(100));
    EXPECT_EQ(harness.ask(echo("y")).text, "y");
  }
}

TEST(Connection, a_select_out_of_range_is_a_bad_option) {
  RespServer server([](const Args& args, int) -> Answer {
    if (args[0] == "SELECT") return RespServer::bytes("-ERR DB index is out of range\r\n");
    return std::nullopt;
  });
  Config config = config_for(server.port());
  config.db = 99;
  Harness harness(config);
  const Got got = harness.ask(echo("x"));
  EXPECT_EQ(got.code, errc::bad_option);
  EXPECT_NE(got.text.find("SELECT 99"), std::string::npos);
}

TEST(Connection, a_push_is_ignored_and_an_unexpected_reply_closes) {
  RespServer server([](const Args& args, int) -> Answer {
    if (args[0] == "PUSH") return RespServer::bytes(">1\r\n+note\r\n+done\r\n>0\r\n");
    if (args[0] == "TWO") return RespServer::bytes("+one\r\n+two\r\n");
    return std::nullopt;
  });
  Harness harness(config_for(server.port()));
  EXPECT_EQ(harness.ask(resp::Command("PUSH")).text, "done");
  EXPECT_EQ(harness.ask(resp::Command("TWO")).text, "one");
  EXPECT_TRUE(harness.run_until([&] { return !harness.connection().connected(); }));
  EXPECT_EQ(harness.ask(echo("x")).text, "x");
  EXPECT_EQ(harness.connection().generation(), 2U);
}

TEST(Connection, bytes_that_are_no_reply_close_it) {
  RespServer server([](const Args& args, int connection) -> Answer {
    if (args[0] == "JUNK") return RespServer::bytes("$-2\r\n");
    if (args[0] == "PING" && connection > 1) return RespServer::bytes("HTTP/1.1 400\r\n");
    return std::nullopt;
  });
  Harness harness(config_for(server.port()));
  const auto junk = harness.send(resp::Command("JUNK"));
  const auto other = harness.send(echo("behind"));
  ASSERT_TRUE(harness.run_until_all());
  EXPECT_EQ(harness.got(junk)->code, errc::protocol_error);
  EXPECT_NE(harness.got(junk)->text.find("\"$-2\\r\\n"), std::string::npos);
  EXPECT_EQ(harness.got(other)->code, errc::connection_lost);
  EXPECT_EQ(harness.ask(echo("x")).code, errc::protocol_error);
}

TEST(Connection, close_answers_everything_once_and_not_inside_the_call) {
  RespServer server([](const Args& args, int) -> Answer {
    if (args[0] == "WAIT") return RespServer::silence();
    return std::nullopt;
  });
  Harness harness(config_for(server.port()));
  EXPECT_EQ(harness.ask(echo("up")).text, "up");
  const auto out = harness.send(resp::Command("WAIT"));
  ASSERT_TRUE(harness.run_until([&] { return server.count("WAIT") == 1; }));
  const auto queued = harness.send(echo("queued"));
  harness.connection().close();
  const auto after = harness.send(echo("after"));
  EXPECT_EQ(harness.answered(), 1U);
  ASSERT_TRUE(harness.run_until_all());
  for (const std::size_t i : {out, queued, after}) {
    EXPECT_EQ(harness.got(i)->code, errc::closed);
    EXPECT_EQ(harness.calls(i), 1);
  }
  EXPECT_FALSE(harness.connection().connected());
}

TEST(Connection, its_end_inside_a_handler_is_harmless) {
  RespServer server;
  Harness harness(config_for(server.port()));
  bool gone = false;
  int later = 0;
  harness.connection().command(echo("a"), [&](base::Result<resp::Reply> reply) {
    EXPECT_EQ(reply->text(), "a");
    harness.destroy_connection();
    EXPECT_EQ(reply->text(), "a");
    gone = true;
  });
  for (int i = 0; i < 3; ++i) {
    harness.connection().command(echo("b"), [&](base::Result<resp::Reply> reply) {
      EXPECT_FALSE(reply);
      ++later;
    });
  }
  EXPECT_TRUE(harness.run_until([&] { return later == 3; }));
  EXPECT_TRUE(gone);
}

TEST(Connection, commands_past_the_queue_limit_are_refused) {
  RespServer server;
  Harness harness(config_for(server.port()));
  for (std::size_t i = 0; i < Connection::queue_max + 10; ++i) harness.send(echo("x"));
  ASSERT_TRUE(harness.run_until_all());
  EXPECT_EQ(harness.got(Connection::queue_max - 1)->code, errc::ok);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(harness.got(Connection::queue_max + i)->code, errc::would_exceed);
  }
}

TEST(Connection, large_values_go_both_ways) {
  RespServer server;
  Harness harness(config_for(server.port()));
  const std::string large(8 << 20, 'x');
  EXPECT_TRUE(harness.ask(echo(large)).text == large);
  EXPECT_EQ(harness.ask(echo("small")).text, "small");
}

}  // namespace
}  // namespace penstock::redis
