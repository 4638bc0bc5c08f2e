#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "harness.hpp"
#include "support/net/tcp_proxy.hpp"

namespace penstock::redis {
namespace {

using test::RespServer;
using test::TcpProxy;
using Args = std::vector<std::string>;
using Answer = std::optional<RespServer::Answer>;
using Way = TcpProxy::Way;

/// Fast back-off, for tests that break many connections.
Config hasty(std::uint16_t port) {
  Config config = config_for(port);
  config.backoff_min = milliseconds(1);
  config.backoff_max = milliseconds(4);
  return config;
}

/// Asks until it works; the back-off in between answers errc::unreachable.
bool recovers(Harness& harness, const std::string& text) {
  for (int i = 0; i < 200; ++i) {
    const Got got = harness.ask(echo(text));
    if (got.code == errc::ok) return got.text == text;
    harness.run_for(milliseconds(5));
  }
  return false;
}

TEST(ConnectionFaults, cut_at_every_byte_of_what_the_server_sends) {
  RespServer server;
  TcpProxy proxy(server.port());
  // +OK, :<id>, +PONG, then the reply to ECHO: a cut behind byte n of it all.
  const std::size_t login = 5 + 4 + 7;
  const std::size_t reply = 5 + 12;
  for (std::size_t n = 1; n < login + reply; ++n) {
    for (const auto how : {TcpProxy::Cut::rst, TcpProxy::Cut::fin}) {
      Harness harness(hasty(proxy.port()));
      proxy.cut_after(Way::to_client, n, how);
      const Got got = harness.ask(echo("0123456789"));
      // The id grows to two and three digits: the border moves a little.
      if (n < login) {
        EXPECT_EQ(got.code, errc::unreachable) << n << got.text;
      }
      if (n > login + 2) {
        EXPECT_EQ(got.code, errc::connection_lost) << n << got.text;
      }
      EXPECT_NE(got.code, errc::ok) << n;
      proxy.heal();
      ASSERT_TRUE(recovers(harness, "again")) << n;
    }
  }
}

TEST(ConnectionFaults, a_reply_in_single_bytes_is_whole) {
  RespServer server;
  TcpProxy proxy(server.port());
  proxy.slice(Way::to_client, true);
  Harness harness(config_for(proxy.port()));
  const std::string text(3000, 'y');
  EXPECT_EQ(harness.ask(echo(text)).text, text);
}

TEST(ConnectionFaults, T30_a_time_out_closes_and_its_late_reply_reaches_nobody) {
  RespServer server([](const Args& args, int) -> Answer {
    if (args[0] == "SLOW") return RespServer::late(milliseconds(300), "+slow\r\n");
    return std::nullopt;
  });
  Harness harness(config_for(server.port()));
  EXPECT_EQ(harness.ask(echo("up")).text, "up");
  const auto start = Clock::now();
  const auto slow = harness.send(resp::Command("SLOW"), milliseconds(100));
  const auto other = harness.send(echo("other"));
  ASSERT_TRUE(harness.run_until_all());
  const auto took = Clock::now() - start;
  EXPECT_GE(took, milliseconds(100));
  EXPECT_LT(took, milliseconds(290));
  EXPECT_EQ(harness.got(slow)->code, errc::timed_out);
  EXPECT_EQ(harness.got(other)->code, errc::connection_lost);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(harness.ask(echo("n" + std::to_string(i))).text, "n" + std::to_string(i));
    harness.run_for(milliseconds(30));
  }
  EXPECT_EQ(harness.calls(slow), 1);
  EXPECT_EQ(harness.connection().generation(), 2U);
}

TEST(ConnectionFaults, T30_half_open_and_black_hole_are_found_by_time_out) {
  RespServer server;
  TcpProxy proxy(server.port());
  Harness harness(hasty(proxy.port()));
  EXPECT_EQ(harness.ask(echo("up")).text, "up");
  proxy.half_open();
  EXPECT_EQ(harness.ask(echo("x"), milliseconds(100)).code, errc::timed_out);
  ASSERT_TRUE(recovers(harness, "y"));
  proxy.swallow(Way::to_server, true);
  EXPECT_EQ(harness.ask(echo("z"), milliseconds(100)).code, errc::timed_out);
  proxy.heal();
  EXPECT_TRUE(recovers(harness, "again"));
}

TEST(ConnectionFaults, T04_a_command_of_this_line_is_never_sent_on_another) {
  RespServer server;
  Harness harness(config_for(server.port()));
  std::vector<errc> codes;
  const auto pinned = [&](const char* word) {
    harness.connection().command_on_this_line(echo(word), [&](base::Result<resp::Reply> reply) {
      codes.push_back(reply ? errc::ok : reply.error().code);
    });
  };
  pinned("none is there");
  harness.run_for(milliseconds(20));
  ASSERT_EQ(codes, std::vector<errc>{errc::connection_lost});
  EXPECT_EQ(harness.ask(echo("up")).text, "up");
  pinned("sent");
  harness.run_for(milliseconds(50));
  ASSERT_EQ(codes.size(), 2U);
  EXPECT_EQ(codes[1], errc::ok);
  for (const auto& entry : server.log()) {
    EXPECT_EQ(std::count(entry.args.begin(), entry.args.end(), "none is there"), 0);
  }
}

TEST(ConnectionFaults, connect_and_login_have_a_time_out_and_so_has_the_queue) {
  RespServer server;
  TcpProxy proxy(server.port());
  proxy.accept_silent(true);
  Config config = config_for(proxy.port());
  config.connect_timeout = milliseconds(300);
  Harness harness(config);
  const auto start = Clock::now();
  const auto patient = harness.send(echo("x"));
  const auto hasty_one = harness.send(echo("y"), milliseconds(100));
  ASSERT_TRUE(harness.run_until([&] { return harness.got(hasty_one).has_value(); }));
  EXPECT_LT(Clock::now() - start, milliseconds(250));
  EXPECT_EQ(harness.got(hasty_one)->code, errc::unreachable);
  EXPECT_FALSE(harness.got(patient).has_value());
  ASSERT_TRUE(harness.run_until_all());
  EXPECT_LT(Clock::now() - start, milliseconds(600));
  EXPECT_EQ(harness.got(patient)->code, errc::unreachable);
  EXPECT_NE(harness.got(patient)->text.find("no connection within 300 ms"), std::string::npos)
      << harness.got(patient)->text;
}

// Login and reply each take longer than half the time-out.
TEST(ConnectionFaults, B08_on_a_slow_line_the_time_counts_from_where_there_is_one) {
  RespServer server;
  TcpProxy proxy(server.port());
  proxy.delay(Way::to_client, milliseconds(200));
  Config config = config_for(proxy.port());
  constexpr milliseconds time{300};
  config.time_from_connected = true;
  Harness patient(config);
  EXPECT_EQ(patient.ask(echo("x"), time).text, "x");
  EXPECT_EQ(proxy.connections(), 1);
  proxy.swallow(Way::to_client, true);
  EXPECT_EQ(patient.ask(echo("y"), time).code, errc::timed_out);

  proxy.heal();
  proxy.delay(Way::to_client, milliseconds(200));
  config.time_from_connected = false;
  Harness strict(config);
  EXPECT_NE(strict.ask(echo("x"), time).code, errc::ok);
}

TEST(ConnectionFaults, a_refused_connection_says_so) {
  RespServer server;
  TcpProxy proxy(server.port());
  proxy.refuse(true);
  Harness harness(config_for(proxy.port()));
  const Got got = harness.ask(echo("x"));
  EXPECT_EQ(got.code, errc::unreachable);
  EXPECT_NE(got.text.find("127.0.0.1:" + std::to_string(proxy.port())), std::string::npos);
  EXPECT_NE(got.text.find("refused"), std::string::npos) << got.text;
  proxy.refuse(false);
  EXPECT_TRUE(recovers(harness, "y"));
}

/// Asks without a pause for 1.5 s; the moments of the attempts, as the server saw them.
std::vector<Clock::time_point> attempts(const std::string& closes_at) {
  RespServer server([closes_at](const Args& args, int) -> Answer {
    if (args[0] == closes_at) return RespServer::close();
    return std::nullopt;
  });
  Harness harness(config_for(server.port()));
  const auto end = Clock::now() + milliseconds(1500);
  while (Clock::now() < end) {
    EXPECT_NE(harness.ask(echo("x")).code, errc::ok);
    harness.run_for(milliseconds(1));
  }
  std::vector<Clock::time_point> times;
  for (const auto& request : server.log()) {
    if (request.args[0] == "CLIENT" && request.args[1] == "SETNAME") times.push_back(request.time);
  }
  return times;
}

TEST(ConnectionFaults, T40_at_most_five_attempts_a_second) {
  // The login fails; the login works and the first command ends the connection.
  for (const char* closes_at : {"PING", "ECHO"}) {
    const auto times = attempts(closes_at);
    EXPECT_GE(times.size(), 4U) << closes_at;
    for (std::size_t i = 5; i < times.size(); ++i) {
      EXPECT_GE(times[i] - times[i - 5], milliseconds(980)) << closes_at;
    }
  }
}

TEST(ConnectionFaults, B69_no_reply_ever_reaches_another_command) {
  RespServer server;
  TcpProxy proxy(server.port(), 69);
  proxy.delay(Way::to_client, milliseconds(0), milliseconds(8));
  Harness harness(hasty(proxy.port()));
  std::mt19937_64 random(69);
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  constexpr std::size_t commands = 2000;
  std::size_t sent = 0;
  while (sent < commands) {
    for (int i = below(8); i >= 0 && sent < commands; --i) {
      harness.send(echo("tag" + std::to_string(sent++)), milliseconds(5 + below(100)));
    }
    harness.run_for(milliseconds(below(4)));
    if (below(6) == 0) proxy.hold(Way::to_client, false);
    switch (below(50)) {
      case 0:
        proxy.cut_now(below(2) == 0 ? TcpProxy::Cut::rst : TcpProxy::Cut::fin);
        break;
      case 1:
        proxy.cut_after(Way::to_client, static_cast<std::uint64_t>(1 + below(200)));
        break;
      case 2:
        proxy.cut_after(Way::to_server, static_cast<std::uint64_t>(1 + below(200)));
        break;
      case 3:
        proxy.half_open();
        break;
      case 4:
        proxy.hold(Way::to_client, true);
        break;
      default:
        break;
    }
  }
  proxy.heal();
  ASSERT_TRUE(harness.run_until_all());
  std::size_t good = 0;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < commands; ++i) {
    ASSERT_EQ(harness.calls(i), 1) << i;
    const Got& got = *harness.got(i);
    if (got.code == errc::ok) {
      ASSERT_EQ(got.text, "tag" + std::to_string(i));
      ++good;
    } else {
      ASSERT_TRUE(got.code == errc::timed_out || got.code == errc::connection_lost ||
                  got.code == errc::unreachable)
          << got.text;
      ++failed;
    }
  }
  // The faults really bit, and did not eat everything.
  EXPECT_GT(good, 200U);
  EXPECT_GT(failed, 50U);
  EXPECT_GT(harness.connection().generation(), 10U);
  EXPECT_TRUE(recovers(harness, "end"));
}

}  // namespace
}  // namespace penstock::redis
