#pragma once

#include <utility>

#include "store/redis/loop.hpp"

namespace penstock::store {

template <class T>
void RedisStore::answer_later(Done<T> done, base::Result<T> result) {
  if (closed_) result = base::Failure{errc::closed, "the store was closed"};
  post(io_,
       [done = std::move(done), result = std::move(result)]() mutable { done(std::move(result)); });
}

/// A batch over the limit would make a script that is not short: a fault of the caller.
template <class T>
bool RedisStore::refused(std::size_t items, Done<T>& done) {
  if (items <= batch_max) return false;
  answer_later<T>(std::move(done),
                  base::Failure{errc::would_exceed, "more items than a batch may have"});
  return true;
}

}  // namespace penstock::store
