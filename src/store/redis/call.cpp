#include "store/redis/call.hpp"

namespace penstock::store {

resp::Command ScriptCall::build(std::string_view name, std::string_view what) const {
  resp::Command command(name);
  command.arg(what).arg(keys_);
  const std::string_view bytes = bytes_;
  std::size_t at = 0;
  for (const std::size_t end : ends_) {
    command.arg(bytes.substr(at, end - at));
    at = end;
  }
  return command;
}

void run(const std::shared_ptr<redis::Connection>& connection, ScriptCall call,
         redis::Connection::Handler handler) {
  resp::Command first = call.by_sha();
  // Weak: a handler that lies in the connection must not keep it alive.
  connection->command(std::move(first),
                      [link = std::weak_ptr(connection), call = std::move(call),
                       handler = std::move(handler)](base::Result<resp::Reply> reply) {
                        if (reply.has_error() && reply.error().code == errc::script_missing) {
                          if (const auto again = link.lock())
                            return again->command(call.by_text(), handler);
                        }
                        handler(std::move(reply));
                      });
}

}  // namespace penstock::store
