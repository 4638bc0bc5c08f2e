// The worker of scripts/demo: each run of a message leaves one line at its start and one at its end
// in a file that all workers append to. tools/demo.py counts from those lines, not from what
// penstock says about itself.
//
// usage: demo_worker URL STREAM GROUP NAME RECORDS LEASE_MS SWEEP_MS RUN_MS
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <penstock/worker.hpp>

namespace {

using std::chrono::milliseconds;

/// `S 17 ben 1 123456789` or `E ...`: message, worker, delivery, monotonic nanoseconds.
class Records {
 public:
  Records(const char* path, std::string worker)
      : file_(::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)),
        worker_(std::move(worker)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  ~Records() { ::close(file_); }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  void write(char kind, const penstock::Message& message) const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::string line{kind};
    line.append(" ").append(message.body());
    line.append(" ").append(worker_);
    line.append(" ").append(std::to_string(message.delivery()));
    line.append(" ").append(std::to_string(std::chrono::nanoseconds(now).count())).append("\n");
    // One write for one line: appends of several processes do not mix.
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw std::runtime_error("the record cannot be written");
    }
  }

 private:
  const int file_;
  const std::string worker_;
};

milliseconds ms(const char* text) { return milliseconds{std::stol(text)}; }

int work(char** argv) {
  const Records records(argv[5], argv[4]);
  const milliseconds run = ms(argv[8]);

  penstock::WorkerOptions worker_options;
  worker_options.consumer = argv[4];
  penstock::Worker worker(argv[1], worker_options);

  penstock::HandlerOptions options;
  options.group = argv[3];
  options.concurrency = 8;
  // More than the threads can hold: entries wait in the buffer when a worker is killed or closed.
  options.prefetch = penstock::Prefetch::count(64);
  options.lease = ms(argv[6]);
  options.sweep = ms(argv[7]);
  worker.handle(argv[2], options, [&](const penstock::Message& message) {
    records.write('S', message);
    std::this_thread::sleep_for(run);
    records.write('E', message);
  });
  return worker.run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr,
                 "usage: demo_worker URL STREAM GROUP NAME RECORDS LEASE_MS SWEEP_MS RUN_MS\n");
    return 64;
  }
  try {
    return work(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "demo_worker: %s\n", error.what());
    return 78;
  }
}
