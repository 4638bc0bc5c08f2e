#include "support/net/tcp_proxy.hpp"

#include <gtest/gtest.h>

#include "net_client.hpp"
#include "support/net/resp_server.hpp"

namespace penstock::test {
namespace {

using std::chrono::milliseconds;
using Way = TcpProxy::Way;

constexpr std::string_view ping = "*1\r\n$4\r\nPING\r\n";
constexpr std::string_view pong = "+PONG\r\n";

class TcpProxyTest : public testing::Test {
 protected:
  NetClient connect() {
    NetClient client(connect_tcp(proxy_.port()));
    client.send(ping);
    EXPECT_EQ(client.read(7), pong);
    return client;
  }

  RespServer server_;
  TcpProxy proxy_{server_.port()};
};

TEST_F(TcpProxyTest, forwards_and_counts) {
  NetClient client = connect();
  EXPECT_EQ(proxy_.connections(), 1);
  EXPECT_EQ(proxy_.bytes(Way::to_server), ping.size());
  EXPECT_EQ(proxy_.bytes(Way::to_client), pong.size());
}

TEST_F(TcpProxyTest, delays) {
  NetClient client = connect();
  proxy_.delay(Way::to_client, milliseconds(80), milliseconds(10));
  const auto start = std::chrono::steady_clock::now();
  client.send(ping);
  EXPECT_EQ(client.read(7), pong);
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(80));
}

TEST_F(TcpProxyTest, swallows_the_one_connection_that_carries_a_text) {
  NetClient one = connect();
  NetClient two = connect();
  proxy_.swallow_where("ECHO");
  one.send("*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n");
  for (int i = 0; i < 200 && proxy_.swallowed() == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(proxy_.swallowed(), 1);
  const std::uint64_t before = proxy_.bytes(Way::to_server);
  one.send(ping);
  two.send(ping);
  EXPECT_EQ(two.read(7), pong);
  EXPECT_EQ(proxy_.bytes(Way::to_server), before + ping.size());
}

TEST_F(TcpProxyTest, cuts_with_rst_and_with_fin) {
  NetClient one = connect();
  proxy_.cut_now(TcpProxy::Cut::rst);
  EXPECT_EQ(one.read(1), "");
  EXPECT_TRUE(one.was_reset());
  NetClient two = connect();
  proxy_.cut_now(TcpProxy::Cut::fin);
  EXPECT_EQ(two.read(1), "");
  EXPECT_TRUE(two.ended());
  EXPECT_FALSE(two.was_reset());
}

TEST_F(TcpProxyTest, cuts_after_so_many_bytes) {
  NetClient client = connect();
  proxy_.cut_after(Way::to_client, 10, TcpProxy::Cut::fin);
  client.send(ping);
  client.send(ping);
  EXPECT_EQ(client.read(14), "+PONG\r\n+PO");
  EXPECT_TRUE(client.ended());
  static_cast<void>(connect());
}

TEST_F(TcpProxyTest, swallows_a_direction) {
  NetClient client = connect();
  proxy_.swallow(Way::to_server, true);
  client.send(ping);
  EXPECT_EQ(client.read(7, milliseconds(100)), "");
  EXPECT_FALSE(client.ended());
  EXPECT_EQ(server_.count("PING"), 1U);
  proxy_.heal();
  proxy_.swallow(Way::to_client, true);
  client.send(ping);
  EXPECT_EQ(client.read(7, milliseconds(100)), "");
  EXPECT_EQ(server_.count("PING"), 2U);
}

TEST_F(TcpProxyTest, half_open_keeps_the_client_side) {
  NetClient client = connect();
  proxy_.half_open();
  client.send(ping);
  EXPECT_EQ(client.read(7, milliseconds(100)), "");
  EXPECT_FALSE(client.ended());
  static_cast<void>(connect());
}

TEST_F(TcpProxyTest, refuses_and_comes_back_on_the_same_port) {
  proxy_.refuse(true);
  EXPECT_THROW(
      {
        NetClient client(connect_tcp(proxy_.port()));
        client.send(ping);
        if (client.read(7).empty()) throw std::system_error(ECONNREFUSED, std::system_category());
      },
      std::system_error);
  proxy_.refuse(false);
  static_cast<void>(connect());
}

TEST_F(TcpProxyTest, accepts_and_never_answers) {
  proxy_.accept_silent(true);
  NetClient client(connect_tcp(proxy_.port()));
  client.send(ping);
  EXPECT_EQ(client.read(7, milliseconds(100)), "");
  EXPECT_FALSE(client.ended());
  EXPECT_EQ(server_.connections(), 0);
}

TEST_F(TcpProxyTest, slices_to_single_bytes) {
  proxy_.slice(Way::to_client, true);
  NetClient client = connect();
  const std::string text(2000, 'x');
  client.send("*2\r\n$4\r\nECHO\r\n" + bulk(text));
  EXPECT_EQ(client.read(2009), bulk(text));
  EXPECT_GT(client.reads(), 20);
}

TEST_F(TcpProxyTest, holds_replies_and_delivers_them_late) {
  NetClient client = connect();
  proxy_.hold(Way::to_client, true);
  client.send(ping);
  EXPECT_EQ(client.read(7, milliseconds(100)), "");
  proxy_.hold(Way::to_client, false);
  EXPECT_EQ(client.read(7), pong);
}

}  // namespace
}  // namespace penstock::test
