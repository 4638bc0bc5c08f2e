#pragma once

#include <chrono>
#include <cstdlib>
#include <string_view>

namespace penstock::test {

/// TEST_TIME_SCALE (default 1): every time-out of a test is multiplied by it, for slow machines
/// and sanitizers.
inline double time_scale() {
  static const double scale = [] {
    const char* text = std::getenv("TEST_TIME_SCALE");
    const double value = text == nullptr ? 1.0 : std::strtod(text, nullptr);
    return value > 0.0 ? value : 1.0;
  }();
  return scale;
}

inline std::chrono::milliseconds scaled(std::chrono::milliseconds d) {
  return std::chrono::milliseconds(
      static_cast<std::chrono::milliseconds::rep>(static_cast<double>(d.count()) * time_scale()));
}

/// True in `tests/run --full`: each test then takes its full form.
inline bool full() {
  const char* text = std::getenv("PENSTOCK_TEST_FULL");
  return text != nullptr && std::string_view(text) == "1";
}

/// `pick(2'000, 100'000)`: the size of the short form, and of the full form.
template <class T>
T pick(T short_form, T full_form) {
  return full() ? full_form : short_form;
}

}  // namespace penstock::test
