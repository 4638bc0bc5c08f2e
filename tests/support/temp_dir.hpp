#pragma once

#include <filesystem>
#include <string>

namespace penstock::test {

/// A folder of its own, removed with all that is in it. PENSTOCK_TEST_KEEP=1 keeps it.
/// Always short (below /tmp unless TMPDIR is short): a unix socket's path has 107 bytes.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The whole file as text; "" if it is not there.
std::string read_file(const std::filesystem::path& path);

}  // namespace penstock::test
