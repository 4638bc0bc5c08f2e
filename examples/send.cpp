// Sends its arguments as messages on the stream `orders` and prints their ids.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <vector>

#include <penstock/producer.hpp>

int main(int argc, char** argv) try {
  const char* const url = std::getenv("PENSTOCK_URL");
  penstock::Producer producer{url != nullptr ? url : "redis://localhost"};

  std::vector<penstock::Draft> drafts;
  for (int i = 1; i < argc; ++i) drafts.push_back({.body = argv[i], .options = {}});

  int failed = 0;
  for (const penstock::Sent& sent : producer.send("orders", drafts)) {
    if (sent) {
      std::cout << sent.id << '\n';
    } else {
      ++failed;  // after connection_lost and timed_out it may be there or not
      std::cerr << sent.text << '\n';
    }
  }
  return failed == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
