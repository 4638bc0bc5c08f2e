#include "bare_loop.hpp"

#include <hiredis/hiredis.h>
#include <memory>
#include <stdexcept>
#include <vector>

namespace penstock::bench {

namespace {

struct Closer {
  void operator()(redisContext* c) const { redisFree(c); }
  void operator()(void* r) const { freeReplyObject(r); }
};
using Connection = std::unique_ptr<redisContext, Closer>;
using Reply = std::unique_ptr<redisReply, Closer>;

Connection connect(const std::string& socket) {
  Connection c(redisConnectUnix(socket.c_str()));
  if (c == nullptr || c->err != 0) throw std::runtime_error("cannot connect to " + socket);
  return c;
}

Reply checked(redisContext* c, void* raw) {
  Reply reply(static_cast<redisReply*>(raw));
  if (reply == nullptr) throw std::runtime_error(std::string("redis: ") + c->errstr);
  if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(reply->str);
  return reply;
}

}  // namespace

std::uint64_t run_bare_loop(const BareLoop& loop, std::uint64_t messages) {
  const Connection c = connect(loop.socket);
  std::uint64_t handled = 0;
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  while (handled < messages) {
    const Reply read = checked(
        c.get(), redisCommand(c.get(), "XREADGROUP GROUP %s bare COUNT %d BLOCK 2000 STREAMS %s >",
                              loop.group.c_str(), loop.count, loop.stream.c_str()));
    if (read->type != REDIS_REPLY_ARRAY || read->elements == 0) break;
    const redisReply* entries = read->element[0]->element[1];
    words.assign({"XACK", loop.stream.c_str(), loop.group.c_str()});
    sizes.assign({4, loop.stream.size(), loop.group.size()});
    for (std::size_t i = 0; i < entries->elements; ++i) {
      const redisReply* id = entries->element[i]->element[0];
      words.push_back(id->str);
      sizes.push_back(id->len);
    }
    checked(c.get(),
            redisCommandArgv(c.get(), static_cast<int>(words.size()), words.data(), sizes.data()));
    handled += entries->elements;
  }
  return handled;
}

void fill(const std::string& socket, const std::string& stream, std::uint64_t messages,
          std::size_t bytes) {
  const Connection c = connect(socket);
  const std::string body(bytes, 'x');
  for (std::uint64_t done = 0; done < messages;) {
    const std::uint64_t batch = std::min<std::uint64_t>(1000, messages - done);
    for (std::uint64_t i = 0; i < batch; ++i) {
      redisAppendCommand(c.get(), "XADD %s * body %b", stream.c_str(), body.data(), body.size());
    }
    for (std::uint64_t i = 0; i < batch; ++i) {
      void* raw = nullptr;
      redisGetReply(c.get(), &raw);
      checked(c.get(), raw);
    }
    done += batch;
  }
}

void command(const std::string& socket, const std::string& line) {
  const Connection c = connect(socket);
  checked(c.get(), redisCommand(c.get(), line.c_str()));
}

}  // namespace penstock::bench
