#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

struct redisContext;

namespace penstock::test {

/// One reply as a tree.
struct Value {
  enum class Kind { nil, integer, text, status, error, array };
  Kind kind = Kind::nil;
  long long integer = 0;
  std::string text;  ///< of text, status and error
  std::vector<Value> items;

  bool is_nil() const { return kind == Kind::nil; }
  bool is_error() const { return kind == Kind::error; }
  std::size_t size() const { return items.size(); }
  /// Throws std::out_of_range.
  const Value& operator[](std::size_t i) const { return items.at(i); }
  /// For a flat array of names and values (XINFO, HGETALL): the value after `name`, or nil.
  const Value& at(const std::string& name) const;
  /// As redis-cli would show it, on one line: for messages of failed tests.
  std::string str() const;
};

/// A blocking connection of its own, over hiredis. Every command has a time-out; an I/O error
/// throws std::runtime_error and leaves the connection unusable. Not thread-safe.
class RedisClient {
 public:
  static RedisClient unix_socket(const std::string& path, std::chrono::milliseconds timeout);
  static RedisClient tcp(const std::string& host, int port, std::chrono::milliseconds timeout);
  ~RedisClient();
  RedisClient(RedisClient&&) noexcept;
  RedisClient& operator=(RedisClient&&) noexcept;

  /// An error reply is a Value too; only a broken connection throws.
  Value command(const std::vector<std::string>& args);
  /// All sent at once, then all replies read.
  std::vector<Value> pipeline(const std::vector<std::vector<std::string>>& commands);
  /// The next thing the server sends by itself: after MONITOR or SUBSCRIBE.
  Value read();

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };
  explicit RedisClient(redisContext* context, std::chrono::milliseconds timeout);

  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace penstock::test
