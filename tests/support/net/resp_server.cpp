#include "support/net/resp_server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <sys/socket.h>

namespace penstock::test {

namespace {

constexpr int wait_max_ms = 1000;

/// Reads one `*n` of bulks at `from` and moves it behind; nothing while it is not whole. The bytes
/// come from the client under test: what is no command empties the buffer.
std::optional<std::vector<std::string>> take_command(std::string& in, std::size_t& from) {
  std::vector<std::string> args;
  std::size_t at = from;
  const auto number = [&](char type) -> std::optional<std::size_t> {
    const std::size_t end = in.find("\r\n", at);
    if (end == std::string::npos) return std::nullopt;
    if (in[at] != type) {
      in.clear();
      from = at = 0;
      return std::nullopt;
    }
    const std::size_t value = std::strtoul(in.c_str() + at + 1, nullptr, 10);
    at = end + 2;
    return value;
  };
  const auto count = number('*');
  if (!count) return std::nullopt;
  for (std::size_t i = 0; i < *count; ++i) {
    const auto size = number('$');
    if (!size || in.size() < at + *size + 2) return std::nullopt;
    args.push_back(in.substr(at, *size));
    at += *size + 2;
  }
  from = at;
  return args;
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

RespServer::Answer default_answer(const std::vector<std::string>& args, int connection) {
  const std::string name = args.empty() ? std::string() : upper(args[0]);
  const std::string sub = args.size() > 1 ? upper(args[1]) : std::string();
  if (name == "PING") return {"+PONG\r\n"};
  if (name == "AUTH" || name == "SELECT") return {"+OK\r\n"};
  if (name == "CLIENT" && sub == "SETNAME") return {"+OK\r\n"};
  if (name == "CLIENT" && sub == "ID") return {":" + std::to_string(connection) + "\r\n"};
  if (name == "ECHO" && args.size() == 2) return {bulk(args[1])};
  return {"-ERR unknown command '" + name.substr(0, 64) + "'\r\n"};
}

}  // namespace

std::string bulk(const std::string& bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

RespServer::RespServer(Script script, const std::string& unix_path)
    : listener_(unix_path.empty() ? listen_tcp() : listen_unix(unix_path)),
      port_(port_of(listener_)),
      script_(std::move(script)),
      thread_([this] { run(); }) {}

RespServer::~RespServer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  waker_.wake();
  thread_.join();
}

void RespServer::set_script(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

std::vector<RespServer::Request> RespServer::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

std::size_t RespServer::count(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(log_.begin(), log_.end(), [&](const Request& r) {
    return !r.args.empty() && r.args[0] == name;
  }));
}

int RespServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void RespServer::close_all() {
  {
    const std::lock_guard lock(mutex_);
    close_all_ = true;
  }
  waker_.wake();
}

int RespServer::wait_ms(Clock::time_point now) const {
  int wait = wait_max_ms;
  for (const auto& [number, client] : clients_) {
    if (client.out.empty() || client.out.front().at <= now) continue;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(client.out.front().at - now).count();
    wait = std::min(wait, static_cast<int>(std::min<std::int64_t>(left, wait_max_ms)));
  }
  return wait;
}

void RespServer::run() {
  for (;;) {
    const auto before = Clock::now();
    std::vector<pollfd> fds{{waker_.fd(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const auto& [number, client] : clients_) {
      const bool due = !client.out.empty() && client.out.front().at <= before;
      fds.push_back({client.fd.get(), static_cast<short>(due ? POLLIN | POLLOUT : POLLIN), 0});
    }
    ::poll(fds.data(), fds.size(), wait_ms(before));
    waker_.drain();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      if (close_all_) clients_.clear();
      close_all_ = false;
    }
    accept_all();
    for (auto it = clients_.begin(); it != clients_.end();) {
      const bool alive = read_from(it->second, it->first) && write_to(it->second, Clock::now());
      it = alive ? std::next(it) : clients_.erase(it);
    }
  }
}

void RespServer::accept_all() {
  while (Fd fd = accept_one(listener_)) {
    const std::lock_guard lock(mutex_);
    clients_[++connections_].fd = std::move(fd);
  }
}

bool RespServer::read_from(Client& client, int number) {
  char room[65536];
  for (;;) {
    const ssize_t size = ::recv(client.fd.get(), room, sizeof room, 0);
    if (size < 0) {
      if (errno == EAGAIN) break;
      return false;
    }
    if (size == 0) return false;
    client.in.append(room, static_cast<std::size_t>(size));
  }
  std::size_t from = 0;
  while (auto args = take_command(client.in, from)) answer(client, number, std::move(*args));
  client.in.erase(0, from);
  return true;
}

void RespServer::answer(Client& client, int number, std::vector<std::string> args) {
  const auto now = Clock::now();
  Script script;
  {
    const std::lock_guard lock(mutex_);
    log_.push_back({args, number, now});
    script = script_;
  }
  std::optional<Answer> answer = script ? script(args, number) : std::nullopt;
  if (!answer) answer = default_answer(args, number);
  if (answer->bytes.empty() && !answer->close) return;
  client.out.push_back({now + answer->delay, std::move(answer->bytes), answer->close});
}

bool RespServer::write_to(Client& client, Clock::time_point now) {
  while (!client.out.empty() && client.out.front().at <= now) {
    Send& send = client.out.front();
    while (!send.bytes.empty()) {
      const ssize_t size =
          ::send(client.fd.get(), send.bytes.data(), send.bytes.size(), MSG_NOSIGNAL);
      if (size < 0) return errno == EAGAIN;
      send.bytes.erase(0, static_cast<std::size_t>(size));
    }
    if (send.close) return false;
    client.out.pop_front();
  }
  return true;
}

}  // namespace penstock::test
