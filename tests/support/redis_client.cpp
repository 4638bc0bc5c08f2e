#include "support/redis_client.hpp"

#include <hiredis/hiredis.h>
#include <stdexcept>
#include <sys/time.h>

namespace penstock::test {
namespace {

timeval to_timeval(std::chrono::milliseconds d) {
  return {.tv_sec = d.count() / 1000, .tv_usec = (d.count() % 1000) * 1000};
}

Value to_value(const redisReply& reply) {
  Value value;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      value.kind = Value::Kind::integer;
      value.integer = reply.integer;
      break;
    case REDIS_REPLY_STRING:
      value.kind = Value::Kind::text;
      break;
    case REDIS_REPLY_STATUS:
      value.kind = Value::Kind::status;
      break;
    case REDIS_REPLY_ERROR:
      value.kind = Value::Kind::error;
      break;
    case REDIS_REPLY_ARRAY:
      value.kind = Value::Kind::array;
      value.items.reserve(reply.elements);
      for (std::size_t i = 0; i < reply.elements; ++i) {
        value.items.push_back(to_value(*reply.element[i]));
      }
      break;
    default:
      break;
  }
  if (reply.str != nullptr && value.kind != Value::Kind::integer) {
    value.text.assign(reply.str, reply.len);
  }
  return value;
}

void append(redisContext* context, const std::vector<std::string>& args) {
  std::vector<const char*> data;
  std::vector<std::size_t> sizes;
  for (const std::string& a : args) {
    data.push_back(a.data());
    sizes.push_back(a.size());
  }
  redisAppendCommandArgv(context, static_cast<int>(args.size()), data.data(), sizes.data());
}

Value read_reply(redisContext* context) {
  void* raw = nullptr;
  if (redisGetReply(context, &raw) != REDIS_OK || raw == nullptr) {
    throw std::runtime_error(std::string("redis client: ") + context->errstr);
  }
  const std::unique_ptr<void, void (*)(void*)> owner(raw, freeReplyObject);
  return to_value(*static_cast<const redisReply*>(raw));
}

}  // namespace

const Value& Value::at(const std::string& name) const {
  static const Value nil;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == name) return items[i + 1];
  }
  return nil;
}

std::string Value::str() const {
  switch (kind) {
    case Kind::nil:
      return "(nil)";
    case Kind::integer:
      return std::to_string(integer);
    case Kind::text:
      return '"' + text + '"';
    case Kind::status:
      return text;
    case Kind::error:
      return "(error) " + text;
    case Kind::array:
      break;
  }
  std::string out = "[";
  for (const Value& item : items) out += (out.size() > 1 ? ", " : "") + item.str();
  return out + "]";
}

void RedisClient::Free::operator()(redisContext* context) const { redisFree(context); }

RedisClient::RedisClient(redisContext* context, std::chrono::milliseconds timeout)
    : context_(context) {
  if (context == nullptr) throw std::runtime_error("redis client: no memory");
  if (context->err != 0) throw std::runtime_error(std::string("redis client: ") + context->errstr);
  redisSetTimeout(context, to_timeval(timeout));
}

RedisClient::~RedisClient() = default;
RedisClient::RedisClient(RedisClient&&) noexcept = default;
RedisClient& RedisClient::operator=(RedisClient&&) noexcept = default;

RedisClient RedisClient::unix_socket(const std::string& path, std::chrono::milliseconds timeout) {
  return RedisClient(redisConnectUnixWithTimeout(path.c_str(), to_timeval(timeout)), timeout);
}

RedisClient RedisClient::tcp(const std::string& host, int port, std::chrono::milliseconds timeout) {
  return RedisClient(redisConnectWithTimeout(host.c_str(), port, to_timeval(timeout)), timeout);
}

Value RedisClient::command(const std::vector<std::string>& args) {
  append(context_.get(), args);
  return read_reply(context_.get());
}

Value RedisClient::read() { return read_reply(context_.get()); }

std::vector<Value> RedisClient::pipeline(const std::vector<std::vector<std::string>>& commands) {
  for (const auto& args : commands) append(context_.get(), args);
  std::vector<Value> replies;
  replies.reserve(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) replies.push_back(read_reply(context_.get()));
  return replies;
}

}  // namespace penstock::test
