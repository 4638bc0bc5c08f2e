#include "cli/exec/output.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace penstock::cli::exec {
namespace {
constexpr std::size_t line_max = 8192;
constexpr int poll_ms = 100;
constexpr std::chrono::milliseconds closing_max{1'000};
}  // namespace

Output::Output(int fd, std::size_t capacity, std::chrono::milliseconds patience)
    : fd_(fd), capacity_(capacity), patience_(patience) {
  thread_ = std::jthread([this](std::stop_token stop) { write_lines(std::move(stop)); });
}

Output::~Output() {
  thread_.request_stop();
  changed_.notify_all();
}

std::uint64_t Output::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void Output::put(std::string_view line) {
  std::unique_lock lock(mutex_);
  const auto room = [&] { return broken_ || bytes_ + line.size() < capacity_; };
  // Once it drops, it waits no more until there is room again.
  if (!room() && !dropping_) changed_.wait_for(lock, patience_, room);
  if (broken_) return;
  dropping_ = !room();
  if (dropping_) {
    ++dropped_;
    return;
  }
  if (dropped_ > dropped_told_) {
    lines_.push_back("penstock: " + std::to_string(dropped_ - dropped_told_) +
                     " lines were dropped here: nobody read them\n");
    bytes_ += lines_.back().size();
    dropped_told_ = dropped_;
  }
  lines_.emplace_back(line).push_back('\n');
  bytes_ += lines_.back().size();
  changed_.notify_all();
}

bool Output::flush(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return lines_.empty() && !writing_; });
}

void Output::write_lines(std::stop_token stop) {
  std::string batch;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      writing_ = false;
      changed_.notify_all();
      changed_.wait(lock, stop, [&] { return !lines_.empty(); });
      if (lines_.empty()) return;  // asked to stop, and all is written
      writing_ = true;
      batch.clear();
      while (!lines_.empty() && batch.size() < 64 * 1024) {
        batch += lines_.front();
        bytes_ -= lines_.front().size();
        lines_.pop_front();
      }
    }
    changed_.notify_all();
    if (write_some(batch, stop)) continue;
    const std::lock_guard lock(mutex_);
    broken_ = true;
    lines_.clear();
    bytes_ = 0;
    changed_.notify_all();
    if (stop.stop_requested()) return;
  }
}

// Waits by poll in small steps. The descriptor itself stays as it was given: making a shared
// terminal non-blocking would change it for everybody.
bool Output::write_some(std::string_view text, const std::stop_token& stop) {
  auto give_up = std::chrono::steady_clock::time_point::max();
  while (!text.empty()) {
    if (stop.stop_requested()) {
      const auto now = std::chrono::steady_clock::now();
      if (give_up == std::chrono::steady_clock::time_point::max()) give_up = now + closing_max;
      if (now >= give_up) return false;
    }
    pollfd wait{fd_, POLLOUT, 0};
    const int ready = ::poll(&wait, 1, poll_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    // Where poll says yes, a pipe takes at least PIPE_BUF bytes at once.
    const ssize_t n = ::write(fd_, text.data(), std::min<std::size_t>(text.size(), 4096));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool LineCutter::add(std::string_view data) {
  const std::size_t take = std::min(data.size(), *budget_);
  *budget_ -= take;
  const bool all = take == data.size();
  if (output_ == nullptr) return all;
  data = data.substr(0, take);
  while (!data.empty()) {
    const std::size_t end = data.find('\n');
    const std::size_t part = std::min({end, data.size(), line_max - line_.size()});
    line_ += data.substr(0, part);
    data.remove_prefix(part);
    if (!data.empty() && data.front() == '\n') {
      data.remove_prefix(1);
    } else if (line_.size() < line_max) {
      break;
    }
    output_->put(line_);
    line_.clear();
  }
  return all;
}

void LineCutter::finish() {
  if (output_ != nullptr && !line_.empty()) output_->put(line_);
  line_.clear();
}

}  // namespace penstock::cli::exec
