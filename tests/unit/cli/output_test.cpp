#include "cli/exec/output.hpp"

#include <chrono>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "cli/exec/fd.hpp"

namespace penstock::cli::exec {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string read_all(int fd) {
  std::string out;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::read(fd, buffer, sizeof buffer)) > 0) out.append(buffer, static_cast<size_t>(n));
  return out;
}

TEST(Output, whole_lines_in_order) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  {
    Output output(pipe.write.get());
    std::size_t budget = 1000;
    LineCutter cutter(&output, &budget);
    EXPECT_TRUE(cutter.add("one\ntw"));
    EXPECT_TRUE(cutter.add("o\n\nthree"));
    cutter.finish();
  }
  pipe.write.reset();
  EXPECT_EQ(read_all(pipe.read.get()), "one\ntwo\n\nthree\n");
}

TEST(Output, flush_waits_for_the_last_byte) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  ASSERT_TRUE(set_nonblocking(pipe.read.get()));
  Output output(pipe.write.get());
  for (int i = 0; i < 100; ++i) {
    output.put("line");
    ASSERT_TRUE(output.flush(milliseconds{5'000}));
    ASSERT_EQ(read_all(pipe.read.get()), "line\n");
  }
  output.put(std::string(200'000, 'x'));
  EXPECT_FALSE(output.flush(milliseconds{50})) << "nobody reads it";
}

TEST(Output, a_line_without_end_is_cut_and_the_budget_holds) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  std::size_t budget = 20'000;
  {
    Output output(pipe.write.get());
    LineCutter cutter(&output, &budget);
    EXPECT_FALSE(cutter.add(std::string(30'000, 'x')));
    EXPECT_FALSE(cutter.add("more"));
    cutter.finish();
  }
  pipe.write.reset();
  const std::string all = read_all(pipe.read.get());
  EXPECT_EQ(all.size(), 20'000u + 3u);
  EXPECT_EQ(all.find('\n'), 8192u);
  EXPECT_EQ(budget, 0u);
}

TEST(Output, nobody_reads_and_nobody_waits_for_ever) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  const auto begin = steady_clock::now();
  {
    Output output(pipe.write.get(), 10'000, milliseconds{50});
    for (int i = 0; i < 2'000; ++i) output.put(std::string(100, 'x'));
    EXPECT_GT(output.dropped(), 0u);
    EXPECT_LT(steady_clock::now() - begin, milliseconds{5'000});
  }
  EXPECT_LT(steady_clock::now() - begin, milliseconds{8'000}) << "closing has a bound";
}

TEST(Output, a_reader_that_left_stops_nothing) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  pipe.read.reset();
  Output output(pipe.write.get(), 1'000, milliseconds{10'000});
  const auto begin = steady_clock::now();
  for (int i = 0; i < 1'000; ++i) output.put(std::string(100, 'x'));
  EXPECT_LT(steady_clock::now() - begin, milliseconds{5'000});
}

}  // namespace
}  // namespace penstock::cli::exec
