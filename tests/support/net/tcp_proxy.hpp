#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "support/net/socket.hpp"

namespace penstock::test {

/// A proxy on 127.0.0.1 in front of a server, in a thread of its own, with faults that can be
/// switched while it runs. Each call has taken effect when it returns.
class TcpProxy {
 public:
  using Clock = std::chrono::steady_clock;
  using Ms = std::chrono::milliseconds;
  enum class Way { to_server, to_client };
  enum class Cut { fin, rst };

  explicit TcpProxy(std::string unix_path, std::uint64_t seed = 1);
  explicit TcpProxy(std::uint16_t port, std::uint64_t seed = 1);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  std::uint16_t port() const { return port_; }

  /// Every piece of bytes waits `base` + 0..jitter; the order within a connection stays.
  void delay(Way way, Ms base, Ms jitter = Ms(0));
  /// Reads and drops: the direction is a black hole.
  void swallow(Way way, bool on);
  /// A black hole both ways on every connection that carries `text` to the server from now on, from
  /// the piece with the text on: one line among several. `text` within one piece. "" = no further
  /// ones; heal() frees none.
  void swallow_where(std::string text);
  /// How many connections it has caught.
  int swallowed() const;
  /// One byte a write.
  void slice(Way way, bool on);
  /// Late replies: keeps what comes until hold(way, false), then delivers it.
  void hold(Way way, bool on);
  /// Ends all present connections, on both sides.
  void cut_now(Cut how = Cut::rst);
  /// Ends the connection that carries the n-th byte from now on, behind that byte. 0 = off.
  void cut_after(Way way, std::uint64_t bytes, Cut how = Cut::rst);
  /// Drops the server side of all present connections; the client side stays open and silent.
  void half_open();
  /// New connections are refused by the kernel.
  void refuse(bool on);
  /// New connections are accepted, never forwarded, never answered.
  void accept_silent(bool on);
  /// Ends all faults; present connections live on.
  void heal();

  int connections() const;
  std::uint64_t bytes(Way way) const;

 private:
  struct Piece {
    Clock::time_point at;
    std::string bytes;
  };
  struct Side {
    Fd fd;
    std::deque<Piece> out;  // towards fd
    bool ended = false;     // its peer sent FIN: FIN follows the last piece
  };
  struct Pair {
    std::array<Side, 2> sides;  // 0 = server, 1 = client: index of Way is the side it leads to
    bool dead = false;
    bool silent = false;     // the server side is gone or never was
    bool swallowed = false;  // caught by swallow_where
  };
  struct Faults {
    Ms delay{0};
    Ms jitter{0};
    bool swallow = false;
    bool slice = false;
    bool hold = false;
    std::optional<std::uint64_t> cut_after;
    Cut cut_how = Cut::rst;
    std::uint64_t bytes = 0;
  };

  TcpProxy(std::string unix_path, std::uint16_t port, std::uint64_t seed);
  static std::size_t index(Way way) { return way == Way::to_server ? 0 : 1; }
  void change(const std::function<void()>& what);
  void run();
  void poll_once();
  int wait_ms(Clock::time_point now) const;
  void accept_all();
  void read_side(Pair& pair, std::size_t to);
  void write_side(Pair& pair, std::size_t to, Clock::time_point now);
  bool send_front(Pair& pair, std::size_t to);
  void end(Pair& pair, Cut how);

  const std::string unix_path_;
  const std::uint16_t target_port_;
  mutable std::mutex mutex_;  // held by the thread except while it polls
  std::condition_variable turned_;
  std::uint64_t turn_ = 0;
  Fd listener_;
  std::uint16_t port_;
  Waker waker_;
  std::array<Faults, 2> faults_;
  std::list<Pair> pairs_;
  bool silent_ = false;
  bool stop_ = false;
  std::string swallow_where_;
  int swallowed_ = 0;
  int connections_ = 0;
  std::mt19937_64 random_;
  std::thread thread_;
};

}  // namespace penstock::test
