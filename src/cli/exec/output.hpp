#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace penstock::cli::exec {

/// Whole lines of many threads to one descriptor, by a thread of its own: a terminal that is held
/// or a pipe that nobody reads stops no handler. Holds at most `capacity` bytes; where that is
/// full for `patience`, lines are dropped and one line says how many.
class Output {
 public:
  explicit Output(int fd, std::size_t capacity = 1u << 20,
                  std::chrono::milliseconds patience = std::chrono::milliseconds{1'000});
  ~Output();  ///< writes what is left, for at most one second
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// `line` without its end.
  void put(std::string_view line);
  std::uint64_t dropped() const;
  /// Waits until all is written, for at most `patience`. False: it is not.
  bool flush(std::chrono::milliseconds patience);

 private:
  void write_lines(std::stop_token stop);
  bool write_some(std::string_view text, const std::stop_token& stop);

  const int fd_;
  const std::size_t capacity_;
  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
  bool dropping_ = false;
  bool writing_ = false;
  bool broken_ = false;  ///< nobody will ever read it
  std::uint64_t dropped_ = 0, dropped_told_ = 0;
  std::jthread thread_;
};

/// Cuts a child's bytes into lines (at most 8 KiB long) for an Output, up to a number of bytes
/// shared by the child's two streams.
class LineCutter {
 public:
  LineCutter(Output* output, std::size_t* budget) : output_(output), budget_(budget) {}
  /// False: the budget is used up, now or before.
  bool add(std::string_view data);
  void finish();

 private:
  Output* output_;
  std::size_t* budget_;
  std::string line_;
};

}  // namespace penstock::cli::exec
