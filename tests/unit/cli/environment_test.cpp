#include "cli/exec/environment.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

namespace penstock::cli::exec {
namespace {

bool has(const Environment& env, const std::string& entry) {
  return std::find(env.entries.begin(), env.entries.end(), entry) != env.entries.end();
}

MessageFacts facts() {
  MessageFacts message;
  message.stream = "orders";
  message.group = "billing";
  message.id = "5-1";
  message.token = "t";
  message.attempt = 2;
  message.delivery = 3;
  return message;
}

TEST(Environment, of_a_message) {
  MessageFacts message = facts();
  const std::string nul("a\0b", 3);
  message.fields = {{"body", "BODY"},        {"tenant", "acme"}, {"x-trace.id", "1=2"},
                    {"X_Trace-ID", "later"}, {"bad", nul},       {"", "empty"}};
  const char* inherited[] = {"PATH=/bin", "PENSTOCK_ID=old", "PENSTOCK_HEADER_OLD=1",
                             "PENSTOCK_URL=redis://x", nullptr};
  const Environment env = environment_of(message, inherited);
  for (const char* entry :
       {"PATH=/bin", "PENSTOCK_URL=redis://x", "PENSTOCK_STREAM=orders", "PENSTOCK_GROUP=billing",
        "PENSTOCK_ID=5-1", "PENSTOCK_ATTEMPT=2", "PENSTOCK_DELIVERY=3", "PENSTOCK_TOKEN=t",
        "PENSTOCK_HEADER_TENANT=acme", "PENSTOCK_HEADER_X_TRACE_ID=1=2",
        "PENSTOCK_HEADER_=empty"}) {
    EXPECT_TRUE(has(env, entry)) << entry;
  }
  EXPECT_EQ(env.entries.size(), 11u);
  EXPECT_EQ(env.left_out, std::vector<std::string>{"bad"});
}

TEST(Environment, the_only_field_is_the_body) {
  MessageFacts message = facts();
  message.fields = {{"payload", "x"}};
  EXPECT_FALSE(has(environment_of(message, nullptr), "PENSTOCK_HEADER_PAYLOAD=x"));
}

TEST(Environment, hostile_names_become_plain_variables) {
  EXPECT_EQ(header_variable("a=b\n\x1b\xff"), "PENSTOCK_HEADER_A_B___");
  MessageFacts message = facts();
  message.stream = std::string("s\0x", 3);
  const Environment env = environment_of(message, nullptr);
  EXPECT_EQ(env.left_out, std::vector<std::string>{"PENSTOCK_STREAM"});
}

}  // namespace
}  // namespace penstock::cli::exec
