#include "cli/exec/helper.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/exec/fd.hpp"
#include "cli/exec/protocol.hpp"

namespace penstock::cli::exec {
namespace {

void report(int status_fd, ReportKind kind, int value) {
  const Report message{kind, value};
  // Never blocks: a pipe holds far more than the three reports of a child.
  [[maybe_unused]] const auto n = ::write(status_fd, &message, sizeof message);
}

// The strings of a spawn request, mapped.
class Strings {
 public:
  Strings(int fd, const Request& request) {
    const off_t size = ::lseek(fd, 0, SEEK_END);
    if (size <= 0) return;
    size_ = static_cast<std::size_t>(size);
    void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return;
    data_ = static_cast<char*>(at);
    if (data_[size_ - 1] != '\0') return;
    char* next = data_;
    file_ = take(next);
    if (!take_all(argv_, request.argc, next) || !take_all(envp_, request.envc, next)) return;
    valid_ = true;
  }
  ~Strings() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  Strings(const Strings&) = delete;
  Strings& operator=(const Strings&) = delete;

  bool valid() const { return valid_; }
  const char* file() const { return file_; }
  char* const* argv() { return argv_.data(); }
  char* const* envp() { return envp_.data(); }

 private:
  char* take(char*& next) {
    if (next >= data_ + size_) return nullptr;
    char* const text = next;
    next += std::strlen(next) + 1;
    return text;
  }
  bool take_all(std::vector<char*>& out, std::uint32_t count, char*& next) {
    for (std::uint32_t i = 0; i < count; ++i) {
      char* const text = take(next);
      if (text == nullptr) return false;
      out.push_back(text);
    }
    out.push_back(nullptr);
    return true;
  }

  std::size_t size_ = 0;
  char* data_ = nullptr;
  char* file_ = nullptr;
  std::vector<char*> argv_, envp_;
  bool valid_ = false;
};

// As a program expects to find it: nothing blocked, nothing ignored.
void reset_signals() {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

class Helper {
 public:
  Helper(int socket, rlim_t children_nofile) : socket_(socket), nofile_(children_nofile) {}

  int run() {
    prepare();
    while (true) {
      std::array<pollfd, 2> waits{{{socket_, POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
      if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
      if (waits[1].revents != 0) reap();
      if (waits[0].revents != 0 && !receive()) break;
    }
    for (const auto& [token, child] : children_) ::kill(-child.pid, SIGKILL);
    return 0;
  }

 private:
  struct Child {
    pid_t pid = -1;
    Fd status;
  };

  void prepare() {
    // A session of its own: what is sent to the worker's group or terminal does not come here.
    ::setsid();
    ::prctl(PR_SET_NAME, "penstock-exec");
    // What children leave behind comes here to be reaped, not to a worker that is pid 1.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2}) {
      ::signal(number, SIG_IGN);
    }
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &child, nullptr);
    ::signal(SIGCHLD, SIG_DFL);
    signals_ = Fd{::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)};
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
      hard_nofile_ = limit.rlim_max;
      limit.rlim_cur = limit.rlim_max;
      ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    pid_ = ::getpid();
  }

  // One datagram. False: the worker is gone.
  bool receive() {
    Request request;
    iovec part{&request, sizeof request};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * request_fds)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    if (n == 0) return false;
    std::vector<Fd> fds;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      std::array<int, request_fds> numbers{};
      const std::size_t bytes = std::min(c->cmsg_len - CMSG_LEN(0), sizeof numbers);
      std::memcpy(numbers.data(), CMSG_DATA(c), bytes);
      for (std::size_t i = 0; i < bytes / sizeof(int); ++i) fds.emplace_back(numbers[i]);
    }
    if (n != static_cast<ssize_t>(sizeof request)) return true;
    if (request.kind == RequestKind::spawn) {
      spawn(request, fds);
    } else if (const auto at = children_.find(request.token); at != children_.end()) {
      // The leader is not reaped while its row is here: the number is still the group's.
      ::kill(-at->second.pid, request.signal);
      if (request.signal == SIGTERM) ::kill(-at->second.pid, SIGCONT);
    }
    return true;
  }

  void spawn(const Request& request, std::vector<Fd>& fds) {
    if (fds.size() != request_fds) {
      // The kernel drops descriptors that find no room. Without a status pipe the worker sees its
      // end, which it takes for a dead helper: the attempt fails and says so.
      if (!fds.empty()) report(fds[0].get(), ReportKind::failed, EMFILE);
      return;
    }
    Strings strings(fds[4].get(), request);
    if (!strings.valid()) return report(fds[0].get(), ReportKind::failed, ENOMEM);
    const pid_t pid = ::fork();
    if (pid < 0) return report(fds[0].get(), ReportKind::failed, errno);
    if (pid == 0) become(strings, fds);
    // On both sides: whoever is first, the group is there before anybody is told of it.
    ::setpgid(pid, pid);
    report(fds[0].get(), ReportKind::started, pid);
    children_.emplace(request.token, Child{pid, std::move(fds[0])});
    tokens_.emplace(pid, request.token);
  }

  [[noreturn]] void become(Strings& strings, const std::vector<Fd>& fds) {
    ::setpgid(0, 0);
    // The second net: should the helper be killed, the kernel ends at least the child itself.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != pid_) ::_exit(127);
    // The received ones are above 2: 0 to 2 are open in the helper.
    for (int i = 0; i < 3; ++i) ::dup2(fds[static_cast<std::size_t>(i) + 1].get(), i);
    if (nofile_ != 0) {
      const rlimit limit{std::min(nofile_, hard_nofile_), hard_nofile_};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    reset_signals();
    ::execve(strings.file(), strings.argv(), strings.envp());
    report(fds[0].get(), ReportKind::failed, errno);
    ::_exit(127);
  }

  void reap() {
    signalfd_siginfo dropped;
    while (::read(signals_.get(), &dropped, sizeof dropped) > 0) {
    }
    while (true) {
      siginfo_t info{};
      // Left a zombie at first: while it is one, its number cannot be taken by another group.
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
      const auto known = tokens_.find(info.si_pid);
      if (known != tokens_.end()) ::kill(-info.si_pid, SIGKILL);
      int status = 0;
      ::waitpid(info.si_pid, &status, 0);
      if (known == tokens_.end()) continue;
      const auto child = children_.find(known->second);
      report(child->second.status.get(), ReportKind::ended, status);
      children_.erase(child);
      tokens_.erase(known);
    }
  }

  const int socket_;
  const rlim_t nofile_;
  rlim_t hard_nofile_ = 0;
  pid_t pid_ = 0;
  Fd signals_;
  std::unordered_map<std::uint64_t, Child> children_;
  std::unordered_map<pid_t, std::uint64_t> tokens_;
};

}  // namespace

std::optional<int> run_helper_if_asked(int argc, char** argv) {
  if (argc != helper_arguments || std::strcmp(argv[1], helper_argument) != 0) return std::nullopt;
  const int socket = std::atoi(argv[2]);
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    return 64;
  }
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  return Helper(socket, static_cast<rlim_t>(std::strtoull(argv[3], nullptr, 10))).run();
}

}  // namespace penstock::cli::exec
