#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/system/result.hpp>

#include <penstock/error.hpp>

namespace penstock::base {

/// Why an operation failed: the class decides what is done, the text is for people.
struct Failure {
  errc code = errc::internal;
  std::string text;
};

// Found by ADL when somebody calls .value() on a failed result: inside penstock nobody should.
[[noreturn]] inline void throw_exception_from_error(const Failure& f,
                                                    const boost::source_location&) {
  throw penstock::Error(f.code, f.text);
}

template <class T>
using Result = boost::system::result<T, Failure>;

/// What an asynchronous operation calls, exactly once, on its executor's thread.
template <class T>
using Done = std::function<void(Result<T>)>;

/// The value of an operation that has none.
struct Nothing {};

}  // namespace penstock::base
