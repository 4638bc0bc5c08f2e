// run(): signals and exit codes, each in a process of its own.
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <penstock/producer.hpp>
#include <penstock/worker.hpp>

#include "support/eventually.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

/// A child process that runs `body` with the writing end of a pipe; its exit code is what body
/// returns.
class Child {
 public:
  explicit Child(const std::function<int(int)>& body) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      ::_exit(body(ends[1]));
    }
    ::close(ends[1]);
    fd_ = ends[0];
  }
  ~Child() {
    if (pid_ > 0 && !code_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(fd_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// One byte that the child wrote; 0 where none came.
  char told() const {
    pollfd p{fd_, POLLIN, 0};
    char c = 0;
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(test::scaled(10s));
    if (::poll(&p, 1, static_cast<int>(wait.count())) != 1 || ::read(fd_, &c, 1) != 1) return 0;
    return c;
  }
  void signal(int number) const { ::kill(pid_, number); }
  /// Its exit code; -1000 - signal where one killed it; -1 where it did not end.
  int code() {
    int status = 0;
    const bool ended =
        test::eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, 15s);
    if (!ended) return -1;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1000 - WTERMSIG(status);
    return *code_;
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::optional<int> code_;
};

void tell(int fd, char c) { [[maybe_unused]] const auto n = ::write(fd, &c, 1); }

HandlerOptions options() {
  HandlerOptions o;
  o.group = "billing";
  o.stop_grace = 300ms;
  return o;
}

WorkerOptions quiet(milliseconds drain = 2s) {
  WorkerOptions o;
  o.drain = drain;
  o.log = [](LogLevel, std::string_view) {};
  return o;
}

TEST(WorkerRun, a_signal_drains_and_ends_with_0) {
  for (const int number : {SIGTERM, SIGINT}) {
    Child child([](int fd) {
      Producer("memory:").send("orders", "x");
      std::atomic<bool> finished{false};
      Worker worker("memory:", quiet());
      worker.handle("orders", options(), [&](const Message&) {
        tell(fd, 'r');
        std::this_thread::sleep_for(200ms);
        finished = true;
      });
      const int code = worker.run();
      return finished ? code : 99;
    });
    ASSERT_EQ(child.told(), 'r');
    child.signal(number);
    EXPECT_EQ(child.code(), 0) << "the run under way was waited for";
  }
}

TEST(WorkerRun, stop_from_elsewhere_ends_it_too) {
  Child child([](int) {
    Worker worker("memory:", quiet());
    worker.handle("orders", options(), [](const Message&) {});
    std::thread stopper([&] {
      std::this_thread::sleep_for(100ms);
      worker.stop();
    });
    const int code = worker.run();
    stopper.join();
    return code;
  });
  EXPECT_EQ(child.code(), 0);
}

TEST(WorkerRun, a_handler_that_does_not_stop_is_75_after_the_drain) {
  Child child([](int fd) {
    Producer("memory:").send("orders", "x");
    auto* worker = new Worker("memory:", quiet(500ms));
    worker->handle("orders", options(), [fd](const Message&) {
      tell(fd, 'r');
      for (;;) std::this_thread::sleep_for(1s);
    });
    return worker->run();
  });
  ASSERT_EQ(child.told(), 'r');
  child.signal(SIGTERM);
  EXPECT_EQ(child.code(), 75);
}

TEST(WorkerRun, a_second_signal_does_not_wait_for_the_drain) {
  Child child([](int fd) {
    Producer("memory:").send("orders", "x");
    auto* worker = new Worker("memory:", quiet(60s));
    worker->handle("orders", options(), [fd](const Message&) {
      tell(fd, 'r');
      for (;;) std::this_thread::sleep_for(1s);
    });
    return worker->run();
  });
  ASSERT_EQ(child.told(), 'r');
  child.signal(SIGTERM);
  std::this_thread::sleep_for(200ms);
  child.signal(SIGTERM);
  EXPECT_EQ(child.code(), 75);
}

TEST(WorkerRun, hung_threads_without_spares_are_70) {
  Child child([](int) {
    Producer producer("memory:");
    for (int i = 0; i < 4; ++i) producer.send("orders", "x");
    auto* worker = new Worker("memory:", quiet(1s));
    auto o = options();
    o.max_run = 50ms;
    o.stop_grace = 50ms;
    worker->handle("orders", o, [](const Message&) {
      for (;;) std::this_thread::sleep_for(1s);
    });
    return worker->run();
  });
  EXPECT_EQ(child.code(), 70);
}

TEST(WorkerRun, without_signal_handling_the_signal_is_the_users) {
  Child child([](int fd) {
    WorkerOptions w = quiet();
    w.handle_signals = false;
    Worker worker("memory:", w);
    worker.handle("orders", options(), [](const Message&) {});
    std::thread teller([&] {
      while (worker.stats().lanes.empty()) std::this_thread::sleep_for(1ms);
      tell(fd, 's');
    });
    const int code = worker.run();
    teller.join();
    return code;
  });
  ASSERT_EQ(child.told(), 's');
  child.signal(SIGTERM);
  EXPECT_EQ(child.code(), -1000 - SIGTERM);
}

TEST(WorkerRun, what_was_installed_before_is_back_afterwards) {
  Child child([](int) {
    static std::atomic<int> mine{0};
    ::signal(SIGTERM, [](int) { ++mine; });
    {
      Worker worker("memory:", quiet());
      worker.handle("orders", options(), [](const Message&) {});
      std::thread stopper([&] {
        while (worker.stats().lanes.empty()) std::this_thread::sleep_for(1ms);
        ::kill(::getpid(), SIGTERM);
      });
      if (worker.run() != 0 || mine != 0) return 1;
      stopper.join();
    }
    ::raise(SIGTERM);
    return mine == 1 ? 0 : 2;
  });
  EXPECT_EQ(child.code(), 0);
}

}  // namespace
}  // namespace penstock
