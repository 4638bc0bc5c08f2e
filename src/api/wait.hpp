#pragma once

#include <future>
#include <utility>

#include "api/home.hpp"

namespace penstock::api {

template <class T, class Start>
T Session::wait(Start start) {
  std::promise<base::Result<T>> promise;
  std::future<base::Result<T>> future = promise.get_future();
  executor().post(
      [&] { start(base::Done<T>([&](base::Result<T> r) { promise.set_value(std::move(r)); })); });
  base::Result<T> result = future.get();
  if (!result) throw Error(result.error().code, result.error().text);
  return std::move(*result);
}

}  // namespace penstock::api
