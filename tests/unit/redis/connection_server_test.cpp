#include <bit>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <set>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.hpp"
#include "support/net/tcp_proxy.hpp"

namespace penstock::redis {
namespace {

/// A redis-server on a unix socket in a folder of its own.
class Server {
 public:
  Server() {
    char name[] = "/tmp/penstock-redis-XXXXXX";
    folder_ = ::mkdtemp(name);
    start();
  }
  ~Server() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string path() const { return folder_ + "/r.sock"; }
  Config config() const {
    Config config;
    config.unix_path = path();
    return config;
  }

  void start() {
    std::string words[] = {"redis-server", "--port",    "0",  "--unixsocket",
                           path(),         "--save",    "",   "--dir",
                           folder_,        "--logfile", "log"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ASSERT_EQ(::posix_spawnp(&pid_, "redis-server", nullptr, nullptr, argv.data(), environ), 0);
    Harness harness(config());
    for (int i = 0; i < 500; ++i) {
      if (harness.ask(resp::Command("PING")).code == errc::ok) return;
      harness.run_for(milliseconds(20));
    }
    FAIL() << "redis-server did not start";
  }

  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  std::string folder_;
  pid_t pid_ = -1;
};

resp::Command words(std::initializer_list<std::string_view> all) {
  resp::Command command(*all.begin());
  for (const auto* word = all.begin() + 1; word != all.end(); ++word) command.arg(*word);
  return command;
}

TEST(ConnectionServer, pipelines_selects_and_names_itself) {
  Server server;
  Config config = server.config();
  config.db = 5;
  config.client_name = "tester";
  Harness harness(config);
  for (int i = 0; i < 5000; ++i) harness.send(words({"RPUSH", "list", std::to_string(i)}));
  ASSERT_TRUE(harness.run_until_all());
  for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ(harness.got(i)->text, std::to_string(i + 1));
  EXPECT_EQ(harness.ask(words({"LRANGE", "list", "0", "-1"})).text, "[5000]");
  const std::string info = harness.ask(words({"CLIENT", "INFO"})).text;
  EXPECT_NE(info.find(" db=5 "), std::string::npos) << info;
  EXPECT_NE(info.find("name=tester "), std::string::npos) << info;
  const std::string id = "id=" + std::to_string(harness.connection().client_id()) + " ";
  EXPECT_NE(info.find(id), std::string::npos) << info;
  EXPECT_EQ(harness.ask(words({"LPUSH", "list"})).code, errc::rejected);
  harness.ask(words({"SET", "s", "x"}));
  EXPECT_EQ(harness.ask(words({"XADD", "s", "*", "a", "1"})).code, errc::wrong_type);
  EXPECT_EQ(harness.ask(words({"MULTI"}).then("INCR").arg("n").then("EXEC")).text, "[1]");
}

TEST(ConnectionServer, logs_in_and_is_refused) {
  Server server;
  Harness admin(server.config());
  ASSERT_EQ(admin
                .ask(words({"ACL", "SETUSER", "worker", "on", ">secret", "~*", "+@all", "-client",
                            "-ping", "-set"}))
                .text,
            "OK");
  ASSERT_EQ(admin.ask(words({"CONFIG", "SET", "requirepass", "main"})).text, "OK");
  Config config = server.config();
  EXPECT_EQ(Harness(config).ask(echo("x")).code, errc::auth_failed);
  config.password = "wrong";
  EXPECT_EQ(Harness(config).ask(echo("x")).code, errc::auth_failed);
  config.password = "main";
  EXPECT_EQ(Harness(config).ask(echo("x")).text, "x");
  config.user = "worker";
  EXPECT_EQ(Harness(config).ask(echo("x")).code, errc::auth_failed);
  config.password = "secret";
  Harness worker(config);
  EXPECT_EQ(worker.ask(echo("x")).text, "x");
  EXPECT_EQ(worker.connection().client_id(), 0);
  EXPECT_EQ(worker.ask(words({"SET", "k", "v"})).code, errc::no_permission);
  const Got script = worker.ask(words({"EVAL", "return redis.call('SET', KEYS[1], 1)", "1", "k"}));
  EXPECT_EQ(script.code, errc::no_permission) << script.text;
}

TEST(ConnectionServer, comes_back_after_a_restart) {
  Server server;
  Harness harness(server.config());
  EXPECT_EQ(harness.ask(echo("a")).text, "a");
  const auto blocked = harness.send(words({"BLPOP", "nothing", "0"}));
  harness.run_for(milliseconds(50));
  server.stop();
  ASSERT_TRUE(harness.run_until_all());
  EXPECT_EQ(harness.got(blocked)->code, errc::connection_lost);
  EXPECT_FALSE(harness.connection().connected());
  EXPECT_EQ(harness.connection().client_id(), 0);
  const Got down = harness.ask(echo("b"));
  EXPECT_EQ(down.code, errc::unreachable);
  server.start();
  EXPECT_TRUE(harness.run_until([&, at = Clock::now()]() mutable {
    if (Clock::now() < at) return false;
    at = Clock::now() + milliseconds(20);
    return harness.ask(echo("c")).text == "c";
  }));
  EXPECT_EQ(harness.connection().generation(), 2U);
}

TEST(ConnectionServer, a_busy_script_is_an_error_of_its_class) {
  Server server;
  Harness harness(server.config());
  harness.ask(words({"CONFIG", "SET", "busy-reply-threshold", "20"}));
  Harness slow(server.config());
  slow.ask(echo("up"));
  slow.send(words({"EVAL", "while true do end", "0"}), milliseconds(60'000));
  slow.run_for(milliseconds(150));
  EXPECT_EQ(harness.ask(echo("x")).code, errc::server_busy);
  Harness late(server.config());
  const Got got = late.ask(echo("x"));
  EXPECT_EQ(got.code, errc::unreachable);
  EXPECT_NE(got.text.find("BUSY"), std::string::npos) << got.text;
  EXPECT_EQ(harness.ask(words({"SCRIPT", "KILL"})).text, "OK");
}

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

TEST(ConnectionServer, T30_sockets_are_kept_alive_and_close_on_exec) {
  Server server;
  std::set<int> inherited;
  for (int fd = 3; fd < 256; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) inherited.insert(fd);
  }
  test::TcpProxy proxy(server.path());
  Harness tcp(config_for(proxy.port()));
  Harness unix_socket(server.config());
  EXPECT_EQ(tcp.ask(echo("x")).text, "x");
  EXPECT_EQ(unix_socket.ask(echo("x")).text, "x");
  int found = 0;
  for (int fd = 3; fd < 256; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags < 0 || inherited.contains(fd)) continue;
    EXPECT_TRUE((flags & FD_CLOEXEC) != 0) << fd;
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, std::bit_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != proxy.port()) continue;
    ++found;
    EXPECT_NE(option(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_NE(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 15);
    EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
    EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    EXPECT_GT(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
  }
  EXPECT_EQ(found, 1);
}

TEST(ConnectionServer, resolves_names) {
  Server server;
  test::TcpProxy proxy(server.path());
  Config config = config_for(proxy.port());
  config.host = "localhost";
  // May first try ::1, where nobody listens.
  EXPECT_EQ(Harness(config).ask(echo("x")).text, "x");
  config.host = "no-such-host.invalid";
  config.connect_timeout = milliseconds(3000);
  const Got got = Harness(config).ask(echo("x"));
  EXPECT_EQ(got.code, errc::unreachable);
}

}  // namespace
}  // namespace penstock::redis
