#include "support/net/resp_server.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "net_client.hpp"

namespace penstock::test {
namespace {

using std::chrono::milliseconds;

TEST(RespServer, answers_a_handshake_by_default_and_logs_it) {
  RespServer server;
  NetClient client(connect_tcp(server.port()));
  client.send(
      "*1\r\n$4\r\nPING\r\n*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n");
  EXPECT_EQ(client.read(18), "+PONG\r\n:1\r\n$1\r\nx\r\n");
  ASSERT_EQ(server.log().size(), 3U);
  EXPECT_EQ(server.log()[1].args, (std::vector<std::string>{"CLIENT", "ID"}));
  EXPECT_EQ(server.count("PING"), 1U);
  EXPECT_EQ(server.connections(), 1);
}

TEST(RespServer, a_script_answers_late_in_silence_or_by_closing) {
  RespServer server(
      [](const std::vector<std::string>& args, int) -> std::optional<RespServer::Answer> {
        if (args[0] == "A") return RespServer::late(milliseconds(60), "+a\r\n");
        if (args[0] == "B") return RespServer::silence();
        if (args[0] == "C") return RespServer::close();
        return std::nullopt;
      });
  NetClient client(connect_tcp(server.port()));
  const auto start = std::chrono::steady_clock::now();
  client.send("*1\r\n$1\r\nA\r\n*1\r\n$1\r\nB\r\n*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(client.read(11), "+a\r\n+PONG\r\n");
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(60));
  client.send("*1\r\n$1\r\nC\r\n");
  EXPECT_EQ(client.read(1), "");
  EXPECT_TRUE(client.ended());
}

TEST(RespServer, listens_on_a_unix_socket_too) {
  const std::string path = "/tmp/penstock-resp-" + std::to_string(::getpid()) + ".sock";
  RespServer server(nullptr, path);
  NetClient client(connect_unix(path));
  client.send("*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(client.read(7), "+PONG\r\n");
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace penstock::test
