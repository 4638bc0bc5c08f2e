#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <new>
#include <signal.h>
#include <string>
#include <unistd.h>
#include <variant>
#include <vector>

#include <penstock/error.hpp>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/exec/helper.hpp"
#include "cli/exit_code.hpp"

namespace penstock::cli {
namespace {

struct Runner {
  int operator()(const SendCommand& command) const { return run_send(command); }
  int operator()(const WorkCommand& command) const { return run_work(command); }
  int operator()(const ShowCommand& command) const { return run_show(command); }
  int operator()(const PendingCommand& command) const { return run_pending(command); }
  int operator()(const TextCommand& command) const {
    print(command.text);
    return finish_output(exit_code::ok);
  }
};

int run(const std::vector<std::string>& args) {
  const char* const env = std::getenv("PENSTOCK_URL");
  const auto command = parse_command(args, env == nullptr ? "" : env);
  if (!command) {
    complain(command.error().text);
    complain("penstock --help shows what there is");
    return exit_code::usage;
  }
  try {
    return std::visit(Runner{}, *command);
  } catch (const Error& error) {
    finish_output(exit_code::ok);
    complain(error.what());
    return exit_code_of(error.kind());
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return exit_code::failed;
}

// Or a file that is opened later becomes standard output.
void open_standard_files() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
  }
}

}  // namespace
}  // namespace penstock::cli

int main(int argc, char** argv) {
  penstock::cli::open_standard_files();
  if (const auto code = penstock::cli::exec::run_helper_if_asked(argc, argv)) return *code;
  ::signal(SIGPIPE, SIG_IGN);
  return penstock::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
