#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/event_thread.hpp"
#include "store/store.hpp"

namespace penstock::api {

/// Where a URL leads: the one place that knows all homes of the store.
class Home {
 public:
  /// Throws Error(bad_option) that names what is wrong with the URL.
  explicit Home(std::string_view url);
  ~Home();

  /// A session that lives on that thread; called on it. `epoch` is shared by a worker's sessions.
  std::unique_ptr<store::Store> open(EventThread& thread,
                                     std::shared_ptr<std::atomic<std::uint64_t>> epoch) const;
  /// For messages: without the password.
  std::string redacted() const;
  /// With `connecting` the time of a call counts from where it is made, else from where there is a
  /// connection.
  void limit_calls(std::chrono::milliseconds timeout, bool connecting);
  void name_connections(std::string name);

 private:
  struct Target;
  std::unique_ptr<Target> target_;
};

/// A session of its own thread for blocking callers (Producer, Inspector).
class Session {
 public:
  explicit Session(const Home& home);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  store::Store& store() { return *store_; }
  base::Executor& executor() { return thread_.executor(); }

  /// start(done) begins an operation on the session's thread; waits for its answer. Throws Error.
  template <class T, class Start>
  T wait(Start start);

 private:
  EventThread thread_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace penstock::api
