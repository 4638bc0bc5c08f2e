#include "cli/exec/supervisor.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "cli/exec/protocol.hpp"

namespace penstock::cli::exec {
namespace {

using base::Failure;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds pause_min{100}, pause_max{10'000};
constexpr timeval send_timeout{5, 0};

Failure failure(const char* what, int error) {
  return {errc::internal, fmt::format("{}: {}", what, std::generic_category().message(error))};
}

bool write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

/// One helper and our end of the socket to it.
class HelperProcess {
 public:
  HelperProcess(pid_t pid, Fd socket) : pid_(pid), socket_(std::move(socket)) {}
  ~HelperProcess() {
    socket_.reset();  // the helper kills what still runs, and ends
    if (!reaped_.exchange(true)) ::waitpid(pid_, nullptr, 0);
  }
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool broken() const { return broken_.load(); }

  /// 0 or errno.
  int send(const Request& request, const int* fds, std::size_t fd_count) {
    iovec part{const_cast<Request*>(&request), sizeof request};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * request_fds)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fd_count > 0) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
      std::memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
    }
    while (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      if (error == EPIPE || error == ECONNRESET || error == ENOTCONN) broken_ = true;
      return error;
    }
    return 0;
  }

  /// Ends it for sure; only once it is of no use any more.
  void end() {
    broken_ = true;
    if (reaped_.exchange(true)) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  const pid_t pid_;
  Fd socket_;
  std::atomic<bool> broken_{false};
  std::atomic<bool> reaped_{false};
};

namespace {

// Forks and executes this program again. In a process with threads too: between fork and exec only
// what is safe there.
base::Result<std::shared_ptr<HelperProcess>> start_helper(std::uint64_t children_nofile) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failure("socketpair", errno);
  }
  Fd ours{ends[0]}, theirs{ends[1]};
  ::setsockopt(ours.get(), SOL_SOCKET, SO_SNDTIMEO, &send_timeout, sizeof send_timeout);
  std::string name = "penstock-exec", argument = helper_argument;
  std::string number = std::to_string(theirs.get()), limit = std::to_string(children_nofile);
  std::array<char*, helper_arguments + 1> argv{name.data(), argument.data(), number.data(),
                                               limit.data(), nullptr};
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours runs in the fork
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int keep = theirs.get();
    if (keep > 3) ::close_range(3, static_cast<unsigned>(keep) - 1, CLOSE_RANGE_CLOEXEC);
    ::close_range(static_cast<unsigned>(keep) + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    ::fcntl(keep, F_SETFD, 0);
    ::execve("/proc/self/exe", argv.data(), environ);
    ::_exit(127);
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return failure("fork", error);
  return std::make_shared<HelperProcess>(pid, std::move(ours));
}

// The strings of a request in a file of memory.
base::Result<Fd> strings_file(const Spawn& what) {
  Fd file{::memfd_create("penstock-exec", MFD_CLOEXEC)};
  if (!file) return failure("memfd_create", errno);
  std::string all;
  all.append(what.file).push_back('\0');
  for (const auto* list : {&what.argv, &what.env}) {
    for (const std::string& text : *list) all.append(text).push_back('\0');
  }
  if (!write_all(file.get(), all)) return failure("writing the request", errno);
  return file;
}

}  // namespace

void Child::kill(int signal) const {
  Request request;
  request.kind = RequestKind::kill;
  request.signal = signal;
  request.token = token;
  helper->send(request, nullptr, 0);
}

Supervisor::Supervisor(std::function<void(std::string_view)> log) : log_(std::move(log)) {}
Supervisor::~Supervisor() = default;

base::Result<base::Nothing> Supervisor::start() {
  const std::lock_guard lock(mutex_);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) children_nofile_ = limit.rlim_cur;
  auto started = start_helper(children_nofile_);
  if (!started) return started.error();
  helper_ = std::move(*started);
  // Five descriptors for each child that runs: the usual 1,024 are too few. Children get the old
  // limit back, for programs that use select().
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return base::Nothing{};
}

pid_t Supervisor::helper_pid() {
  const std::lock_guard lock(mutex_);
  return helper_ ? helper_->pid() : -1;
}

base::Result<std::shared_ptr<HelperProcess>> Supervisor::helper() {
  const std::lock_guard lock(mutex_);
  if (helper_ && !helper_->broken()) return helper_;
  return replace_helper();
}

base::Result<std::shared_ptr<HelperProcess>> Supervisor::replace_helper() {
  const auto now = steady_clock::now();
  if (now < next_start_) {
    return Failure{errc::closed, "the helper process ended; the next one starts in a moment"};
  }
  if (helper_) {
    helper_->end();
    if (log_) log_(fmt::format("the helper process {} ended; starting another", helper_->pid()));
    helper_.reset();
  }
  // A helper that lived long costs no wait; one that dies at once waits longer each time.
  const bool lived = now - next_start_ > milliseconds{60'000};
  pause_ = lived ? pause_min : std::min(std::max(pause_ * 2, pause_min), pause_max);
  next_start_ = now + pause_;
  auto started = start_helper(children_nofile_);
  if (!started) return started.error();
  helper_ = std::move(*started);
  return helper_;
}

base::Result<Child> Supervisor::spawn(const Spawn& what) {
  Child child;
  Pipe in, out, err, status;
  if (!make_pipe(in) || !make_pipe(out) || !make_pipe(err) || !make_pipe(status)) {
    return failure("making pipes", errno);
  }
  auto strings = strings_file(what);
  if (!strings) return strings.error();
  const std::array<int, request_fds> fds{status.write.get(), in.read.get(), out.write.get(),
                                         err.write.get(), strings->get()};
  child.in = std::move(in.write);
  child.out = std::move(out.read);
  child.err = std::move(err.read);
  child.status = std::move(status.read);
  for (const Fd* fd : {&child.in, &child.out, &child.err, &child.status}) {
    if (!set_nonblocking(fd->get())) return failure("fcntl", errno);
  }
  Request request;
  request.argc = static_cast<std::uint32_t>(what.argv.size());
  request.envc = static_cast<std::uint32_t>(what.env.size());
  // Twice: the first may be what finds the helper dead.
  for (int round = 0; round < 2; ++round) {
    const auto current = helper();
    if (!current) return current.error();
    {
      const std::lock_guard lock(mutex_);
      request.token = next_token_++;
    }
    const int error = (*current)->send(request, fds.data(), fds.size());
    if (error == 0) {
      child.token = request.token;
      child.helper = *current;
      return child;
    }
    if (!(*current)->broken()) return failure("asking the helper process", error);
  }
  return Failure{errc::closed, "the helper process ended twice in a row"};
}

}  // namespace penstock::cli::exec
