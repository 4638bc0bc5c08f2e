#include "cli/exec/fd.hpp"

#include <array>
#include <fcntl.h>
#include <unistd.h>

namespace penstock::cli::exec {

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool make_pipe(Pipe& out) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  out.read = Fd{ends[0]};
  out.write = Fd{ends[1]};
  return true;
}

bool set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace penstock::cli::exec
