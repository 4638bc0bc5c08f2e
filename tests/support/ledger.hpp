#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::test {

// The ledger: what handlers really did, written by the handlers themselves, in one file shared by
// all worker processes. One record is 128 bytes, written by one write() to an O_APPEND file:
// records of several processes never mix, and a killed writer leaves all or nothing.
//
// Layout, host byte order (tools may read it):
//   0 u32 magic "PLG1"   4 u8 kind   5 u8 outcome   6 u8 id size   7 u8 worker size
//   8 u32 attempt   12 u32 delivery   16 i32 pid   20 u32 run   24 i64 CLOCK_MONOTONIC ns
//   32 id, 48 bytes   80 worker, 48 bytes
enum class RunEvent : std::uint8_t { start = 1, end = 2 };
enum class RunOutcome : std::uint8_t { none, ack, retry, not_yet, release, dead };
std::string_view to_string(RunOutcome outcome);

struct LedgerRecord {
  RunEvent kind = RunEvent::start;
  RunOutcome outcome = RunOutcome::none;
  std::string id;  ///< message number or entry id, at most 48 bytes
  std::string worker;
  std::uint32_t attempt = 0;
  std::uint32_t delivery = 0;
  std::int32_t pid = 0;
  std::uint32_t run = 0;  ///< joins start and end; unique within one writing process
  std::int64_t at_ns = 0;
  bool operator==(const LedgerRecord&) const = default;
};

inline constexpr std::size_t ledger_record_size = 128;
std::array<char, ledger_record_size> encode(const LedgerRecord& record);

std::int64_t monotonic_ns();

/// Thread-safe. Throws std::system_error where a record could not be written whole.
class LedgerWriter {
 public:
  LedgerWriter(const std::filesystem::path& file, std::string worker);
  ~LedgerWriter();
  LedgerWriter(const LedgerWriter&) = delete;
  LedgerWriter& operator=(const LedgerWriter&) = delete;

  /// Returns the started run, to hand to `end`.
  LedgerRecord start(std::string_view id, std::uint32_t attempt, std::uint32_t delivery);
  void end(const LedgerRecord& started, RunOutcome outcome);
  /// As it is: for planted faults.
  void append(const LedgerRecord& record);

 private:
  int fd_ = -1;
  std::string worker_;
};

struct Ledger {
  std::vector<LedgerRecord> records;  ///< in file order
  std::size_t damaged = 0;            ///< records with a wrong magic, and a torn tail
};
/// An absent file is an empty ledger.
Ledger read_ledger(const std::filesystem::path& file);

}  // namespace penstock::test
