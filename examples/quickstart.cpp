#include <iostream>
#include <stdexcept>

#include <penstock/worker.hpp>

void charge(std::string_view order) {
  if (order.empty()) throw std::runtime_error("an order without text");
  std::cout << "charged: " << order << std::endl;
}

int main() {
  penstock::Worker worker{"redis://localhost"};
  worker.handle("orders", {.group = "billing", .concurrency = 8},
                [](const penstock::Message& m, std::stop_token) {
                  charge(m.body());  // return: done; exception: run again later
                });
  return worker.run();  // until SIGTERM or Ctrl-C: finish what runs, hand back the rest
}
