#include <iostream>
#include <stdexcept>

#include <penstock/worker.hpp>

void charge(std::string_view order) {
  if (order.empty()) throw std::runtime_error("an order without text");
  std::cout << "charged: " << order << std::endl;
}

int main(int argc, char** argv) {
  penstock::Worker worker{argc > 1 ? argv[1] : "redis://localhost"};
  worker.handle("orders", {.group = "billing"}, [](const penstock::Message& m, std::stop_token) {
    charge(m.body());  // return: done. Exception: run again later, with back-off.
  });
  return worker.run();  // until SIGTERM or Ctrl-C: finish what runs, hand back the rest
}
