#pragma once

namespace penstock::api {

/// SIGTERM and SIGINT as something that can be waited for with a time-out. While at least one
/// lives, the handlers are installed; afterwards what was there before is back.
class SignalWatch {
 public:
  explicit SignalWatch(bool install);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// Readable when a signal came or wake() was called.
  int fd() const { return fd_; }
  /// From any thread: ends the wait.
  void wake();
  /// Waits until woken or `ms` have passed (-1: no limit). True: woken.
  bool wait(int ms);
  /// Signals since construction.
  unsigned count() const;

 private:
  int fd_;
  bool installed_;
  unsigned from_;
};

}  // namespace penstock::api
