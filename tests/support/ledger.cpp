#include "support/ledger.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <system_error>
#include <time.h>
#include <unistd.h>

#include "support/temp_dir.hpp"

namespace penstock::test {
namespace {

constexpr std::uint32_t magic = 0x31474C50;  // "PLG1"
constexpr std::size_t name_size = 48;

std::atomic<std::uint32_t> next_run{1};

template <class T>
void put(std::array<char, ledger_record_size>& raw, std::size_t at, T value) {
  std::memcpy(raw.data() + at, &value, sizeof value);
}

template <class T>
T get(const char* raw, std::size_t at) {
  T value;
  std::memcpy(&value, raw + at, sizeof value);
  return value;
}

}  // namespace

std::string_view to_string(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::none:
      return "none";
    case RunOutcome::ack:
      return "ack";
    case RunOutcome::retry:
      return "retry";
    case RunOutcome::not_yet:
      return "not_yet";
    case RunOutcome::release:
      return "release";
    case RunOutcome::dead:
      return "dead";
  }
  return "?";
}

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::array<char, ledger_record_size> encode(const LedgerRecord& record) {
  if (record.id.size() > name_size) throw std::invalid_argument("ledger: id over 48 bytes");
  std::array<char, ledger_record_size> raw{};
  const std::size_t worker_size = std::min(record.worker.size(), name_size);
  put(raw, 0, magic);
  put(raw, 4, record.kind);
  put(raw, 5, record.outcome);
  put(raw, 6, static_cast<std::uint8_t>(record.id.size()));
  put(raw, 7, static_cast<std::uint8_t>(worker_size));
  put(raw, 8, record.attempt);
  put(raw, 12, record.delivery);
  put(raw, 16, record.pid);
  put(raw, 20, record.run);
  put(raw, 24, record.at_ns);
  std::memcpy(raw.data() + 32, record.id.data(), record.id.size());
  std::memcpy(raw.data() + 80, record.worker.data(), worker_size);
  return raw;
}

LedgerWriter::LedgerWriter(const std::filesystem::path& file, std::string worker)
    : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)),
      worker_(std::move(worker)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "open " + file.string());
}

LedgerWriter::~LedgerWriter() { ::close(fd_); }

LedgerRecord LedgerWriter::start(std::string_view id, std::uint32_t attempt,
                                 std::uint32_t delivery) {
  LedgerRecord record{.kind = RunEvent::start,
                      .outcome = RunOutcome::none,
                      .id = std::string(id),
                      .worker = worker_,
                      .attempt = attempt,
                      .delivery = delivery,
                      .pid = ::getpid(),
                      .run = next_run.fetch_add(1),
                      .at_ns = monotonic_ns()};
  append(record);
  return record;
}

void LedgerWriter::end(const LedgerRecord& started, RunOutcome outcome) {
  LedgerRecord record = started;
  record.kind = RunEvent::end;
  record.outcome = outcome;
  record.at_ns = monotonic_ns();
  append(record);
}

void LedgerWriter::append(const LedgerRecord& record) {
  const auto raw = encode(record);
  ssize_t written = 0;
  do written = ::write(fd_, raw.data(), raw.size());
  while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(raw.size())) {
    throw std::system_error(written < 0 ? errno : ENOSPC, std::generic_category(), "ledger write");
  }
}

Ledger read_ledger(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  Ledger ledger;
  const std::size_t count = bytes.size() / ledger_record_size;
  ledger.records.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* raw = bytes.data() + i * ledger_record_size;
    const auto id_size = get<std::uint8_t>(raw, 6);
    const auto worker_size = get<std::uint8_t>(raw, 7);
    if (get<std::uint32_t>(raw, 0) != magic || id_size > name_size || worker_size > name_size) {
      ++ledger.damaged;
      continue;
    }
    ledger.records.push_back({.kind = get<RunEvent>(raw, 4),
                              .outcome = get<RunOutcome>(raw, 5),
                              .id = std::string(raw + 32, id_size),
                              .worker = std::string(raw + 80, worker_size),
                              .attempt = get<std::uint32_t>(raw, 8),
                              .delivery = get<std::uint32_t>(raw, 12),
                              .pid = get<std::int32_t>(raw, 16),
                              .run = get<std::uint32_t>(raw, 20),
                              .at_ns = get<std::int64_t>(raw, 24)});
  }
  if (bytes.size() % ledger_record_size != 0) ++ledger.damaged;
  return ledger;
}

}  // namespace penstock::test
