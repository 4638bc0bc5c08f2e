#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <utility>

#include <penstock/producer.hpp>

#include "api/home.hpp"
#include "api/wait.hpp"
#include "base/entry_id.hpp"

namespace penstock {

namespace {

using Replies = std::vector<base::Result<base::EntryId>>;

/// How long a stream's conf is taken for granted before a send looks again.
constexpr auto conf_trust = std::chrono::seconds(5);

store::Draft to_draft(std::string_view body, const SendOptions& options) {
  store::Draft draft;
  draft.fields.reserve(1 + options.headers.size() + (options.timeout ? 1 : 0));
  draft.fields.emplace_back("body", body);
  for (const auto& [name, value] : options.headers) {
    if (name == "body" || name.starts_with("penstock-")) {
      throw Error(errc::bad_option, "header \"" + name +
                                        "\": `body` and names that begin with "
                                        "penstock- are reserved, use another name");
    }
    if (name.empty()) throw Error(errc::bad_option, "a header has an empty name");
    draft.fields.emplace_back(name, value);
  }
  if (options.timeout) {
    if (*options.timeout <= milliseconds::zero()) {
      throw Error(errc::bad_option,
                  "timeout must be more than 0; leave it out for the worker's max_run");
    }
    draft.fields.emplace_back("penstock-timeout", std::to_string(options.timeout->count()));
  }
  return draft;
}

}  // namespace

class Producer::Impl {
 public:
  Impl(std::string_view url, ProducerOptions options) : home_(url) {
    if (options.timeout <= milliseconds::zero()) {
      throw Error(errc::bad_option, "timeout must be more than 0");
    }
    home_.limit_calls(options.timeout, true);
    home_.name_connections("penstock-producer");
    session_ = std::make_unique<api::Session>(home_);
  }

  /// The stream's retention is decided by whoever makes it first: before the first entry.
  void prepare(const std::string& stream) {
    if (stream.empty()) throw Error(errc::bad_option, "the stream's name is empty");
    const auto now = std::chrono::steady_clock::now();
    {
      const std::lock_guard lock(mutex_);
      const auto known = known_.find(stream);
      if (known != known_.end() && now - known->second < conf_trust) return;
    }
    store::OpenRequest request;
    request.make_group = false;
    session_->wait<store::Opened>([&](base::Done<store::Opened> done) {
      session_->store().open({stream, "", ""}, request, std::move(done));
    });
    const std::lock_guard lock(mutex_);
    if (known_.size() > 10'000) known_.clear();
    known_[stream] = now;
  }

  Replies append(const std::string& stream, std::vector<store::Draft> drafts) {
    return session_->wait<Replies>([&](base::Done<Replies> done) {
      session_->store().append(stream, std::move(drafts), std::move(done));
    });
  }

 private:
  api::Home home_;
  std::unique_ptr<api::Session> session_;
  std::mutex mutex_;
  std::map<std::string, std::chrono::steady_clock::time_point, std::less<>> known_;
};

Producer::Producer(std::string url, ProducerOptions options)
    : impl_(std::make_unique<Impl>(url, options)) {}
Producer::~Producer() = default;

std::string Producer::send(std::string_view stream, std::string_view body,
                           const SendOptions& options) {
  std::vector<store::Draft> drafts;
  drafts.push_back(to_draft(body, options));
  const std::string name(stream);
  impl_->prepare(name);
  Replies replies = impl_->append(name, std::move(drafts));
  if (replies.size() != 1) throw Error(errc::internal, "a send was answered with no id");
  if (!replies[0]) throw Error(replies[0].error().code, replies[0].error().text);
  return base::to_string(*replies[0]);
}

std::vector<Sent> Producer::send(std::string_view stream, const std::vector<Draft>& drafts) {
  std::vector<store::Draft> all;
  all.reserve(drafts.size());
  for (const Draft& draft : drafts) all.push_back(to_draft(draft.body, draft.options));
  std::vector<Sent> sent;
  sent.reserve(drafts.size());
  const std::string name(stream);
  const auto fail = [&](std::size_t upto, const Error& error) {
    while (sent.size() < upto) sent.push_back({{}, error.kind(), error.what()});
  };
  try {
    impl_->prepare(name);
  } catch (const Error& error) {
    if (error.kind() == errc::bad_option) throw;
    fail(drafts.size(), error);
    return sent;
  }
  for (std::size_t from = 0; from < all.size(); from += store::batch_max) {
    const std::size_t to = std::min(all.size(), from + store::batch_max);
    std::vector<store::Draft> part(
        std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(from)),
        std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(to)));
    try {
      for (base::Result<base::EntryId>& reply : impl_->append(name, std::move(part))) {
        if (reply) {
          sent.push_back({base::to_string(*reply), errc::ok, {}});
        } else {
          sent.push_back({{}, reply.error().code, std::move(reply.error().text)});
        }
      }
    } catch (const Error& error) {
      fail(to, error);
    }
  }
  return sent;
}

}  // namespace penstock
