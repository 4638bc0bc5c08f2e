// A handler program for `penstock work --exec "penstock_ledger_handler LEDGER [SLEEP_MS [EXIT]]"`.
// The id it writes is the message's body if that is 1 to 48 bytes, else PENSTOCK_ID.
// The worker it names is PENSTOCK_LEDGER_WORKER. The pid is its own, not the worker's.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>

#include "support/ledger.hpp"

namespace {

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

penstock::test::RunOutcome outcome_of(int code) {
  using penstock::test::RunOutcome;
  switch (code) {
    case 0:
      return RunOutcome::ack;
    case 65:
      return RunOutcome::dead;
    case 76:
      return RunOutcome::not_yet;
    case 77:
      return RunOutcome::release;
    default:
      return RunOutcome::retry;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace penstock::test;
  if (argc < 2) {
    std::cerr << "usage: penstock_ledger_handler LEDGER [SLEEP_MS [EXIT]]\n";
    return 64;
  }
  const std::string body{std::istreambuf_iterator<char>(std::cin), {}};
  const std::string id = body.empty() || body.size() > 48 ? env("PENSTOCK_ID") : body;
  const int code = argc > 3 ? std::atoi(argv[3]) : 0;
  LedgerWriter ledger(argv[1], env("PENSTOCK_LEDGER_WORKER"));
  const LedgerRecord run =
      ledger.start(id, number(env("PENSTOCK_ATTEMPT")), number(env("PENSTOCK_DELIVERY")));
  if (argc > 2) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[2])));
  ledger.end(run, outcome_of(code));
  return code;
}
