#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include <boost/json.hpp>

#include "server/cli/cli_fixture.hpp"

namespace penstock::test {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

bool plain(const std::string& text) {
  for (const char c : text) {
    if (c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == '\x7f')) return false;
  }
  return true;
}

TEST_F(CliTest, send_prints_the_ids) {
  const Finished one = penstock({"send", "orders", "--body", "hello", "--field", "tenant=acme"});
  EXPECT_EQ(code(one), 0) << one.err;
  EXPECT_EQ(lines(one.out), 1u);
  const Value entry = server_.cli("XRANGE", "orders", "-", "+")[0];
  EXPECT_EQ(entry[0].text + "\n", one.out);
  EXPECT_EQ(entry[1].at("body").text, "hello");
  EXPECT_EQ(entry[1].at("tenant").text, "acme");

  const std::string body("line\nNUL \0 \xff\xfe\r\n", 15);
  EXPECT_EQ(code(penstock({"send", "raw"}, body)), 0);
  EXPECT_EQ(server_.cli("XRANGE", "raw", "-", "+")[0][1].at("body").text, body);

  const Finished many = penstock({"send", "lines", "--lines", "-o", "json"}, "a\nb\n\nlast");
  EXPECT_EQ(code(many), 0) << many.err;
  ASSERT_EQ(lines(many.out), 4u);
  EXPECT_TRUE(json::parse(many.out.substr(0, many.out.find('\n'))).at("id").is_string());
  const Value entries = server_.cli("XRANGE", "lines", "-", "+");
  EXPECT_EQ(entries[2][1].at("body").text, "");
  EXPECT_EQ(entries[3][1].at("body").text, "last");

  const Finished copies = penstock({"send", "copies", "--body", "x", "--count", "1234"});
  EXPECT_EQ(lines(copies.out), 1234u);
  EXPECT_EQ(server_.xlen("copies"), 1234);
  EXPECT_TRUE(copies.err.empty()) << "quiet where there is no terminal: " << copies.err;
}

TEST_F(CliTest, exit_codes_without_a_server) {
  const std::string nobody = "unix://" + (dir_ / "nobody.sock").string();
  for (const auto& args : std::vector<std::vector<std::string>>{{"send", "s", "--body", "x"},
                                                                {"show"},
                                                                {"show", "s"},
                                                                {"pending", "s", "--group", "g"}}) {
    auto with_url = args;
    with_url.insert(with_url.end(), {"--url", nobody});
    const Finished finished = penstock(with_url);
    EXPECT_EQ(code(finished), 69) << args[0];
    EXPECT_NE(finished.err.find("nobody.sock"), std::string::npos) << finished.err;
  }
  const Finished tcp = penstock({"show", "--url", "redis://127.0.0.1:1"});
  EXPECT_EQ(code(tcp), 69);
}

TEST_F(CliTest, usage_and_configuration) {
  EXPECT_EQ(code(penstock({})), 64);
  EXPECT_EQ(code(penstock({"wrok"})), 64);
  EXPECT_EQ(code(penstock({"work", "s", "--group", "g", "--exec", "true", "--lease", "30"})), 64);
  EXPECT_EQ(code(penstock({"--help"})), 0);
  EXPECT_EQ(code(penstock({"--version"})), 0);
  const Finished missing = penstock({"work", "s", "--group", "g", "--exec", "no-such-program"});
  EXPECT_EQ(code(missing), 78);
  EXPECT_NE(missing.err.find("no-such-program"), std::string::npos);
  EXPECT_EQ(code(penstock({"show", "--url", "http://x"})), 78);
  EXPECT_EQ(server_.cli("EXISTS", "s").integer, 0) << "nothing was begun";
}

TEST_F(CliTest, wrong_credentials_and_rights_are_78) {
  server_.cli("ACL", "SETUSER", "poor", "on", ">secret", "+ping", "+hello", "+client");
  const std::string at = server_.socket_path().string();
  const Finished rights = penstock({"show", "--url", "unix://poor:secret@" + at});
  EXPECT_EQ(code(rights), 78) << rights.err;
  const Finished wrong =
      penstock({"send", "s", "--body", "x", "--url", "unix://poor:hunter2@" + at});
  EXPECT_EQ(code(wrong), 78) << wrong.err;
  EXPECT_EQ(wrong.err.find("hunter2"), std::string::npos) << "a password is never shown";
  const Finished worker = penstock(
      {"work", "s", "--group", "g", "--exec", "true", "--url", "unix://poor:hunter2@" + at});
  EXPECT_EQ(code(worker), 78) << worker.err;
  EXPECT_EQ(worker.err.find("hunter2"), std::string::npos);
}

TEST_F(CliTest, missing_things_are_zeros_and_said) {
  const Finished show = penstock({"show", "nothing"});
  EXPECT_EQ(code(show), 0);
  EXPECT_NE(show.out.find("not initialised"), std::string::npos) << show.out;
  const json::value stream =
      json::parse(penstock({"show", "nothing", "-o", "json"}).out).at("streams").as_array().at(0);
  EXPECT_FALSE(stream.at("initialised").as_bool());
  const Finished pending = penstock({"pending", "nothing", "--group", "g"});
  EXPECT_EQ(code(pending), 0);
  EXPECT_NE(pending.out.find("not initialised"), std::string::npos);
  const json::value none =
      json::parse(penstock({"pending", "nothing", "--group", "g", "-o", "json"}).out);
  EXPECT_FALSE(none.at("initialised").as_bool());
  EXPECT_TRUE(none.at("pending").as_array().empty());
  EXPECT_EQ(server_.cli("DBSIZE").integer, 0) << "looking makes nothing";
}

// XLEN is no backlog, and what the server does not know is not guessed.
TEST_F(CliTest, show_counts) {
  for (int i = 1; i <= 6; ++i) server_.xadd("s", {{"body", "x"}}, std::to_string(i) + "-0");
  server_.cli("XGROUP", "CREATE", "s", "g", "0");
  server_.cli("XREADGROUP", "GROUP", "g", "other", "COUNT", "2", "STREAMS", "s", ">");
  server_.cli("XACK", "s", "g", "1-0");
  const json::value doc = json::parse(penstock({"show", "s", "-o", "json"}).out);
  const json::value& stream = doc.at("streams").as_array().at(0);
  EXPECT_EQ(stream.at("stored").as_int64(), 6);
  const json::value& group = stream.at("groups").as_array().at(0);
  EXPECT_EQ(group.at("ready").as_int64(), 4);
  EXPECT_EQ(group.at("leased").as_int64(), 1);
  EXPECT_EQ(group.at("parked").as_int64(), 0);
  EXPECT_EQ(group.at("consumers").as_array().at(0).at("name").as_string(), "other");
  const json::value pending =
      json::parse(penstock({"pending", "s", "--group", "g", "-o", "json"}).out);
  ASSERT_EQ(pending.at("pending").as_array().size(), 1u);
  EXPECT_EQ(pending.at("pending").as_array()[0].at("id").as_string(), "2-0");
  const std::string text = penstock({"pending", "s", "--group", "g"}).out;
  EXPECT_NE(text.find("2-0"), std::string::npos) << text;
}

TEST_F(CliTest, pending_is_paged_to_the_last) {
  for (int i = 1; i <= 1'300; ++i) server_.xadd("s", {{"body", "x"}});
  server_.cli("XGROUP", "CREATE", "s", "g", "0");
  server_.cli("XREADGROUP", "GROUP", "g", "c", "COUNT", "1300", "STREAMS", "s", ">");
  const Finished all = penstock({"pending", "s", "--group", "g", "-o", "json"});
  EXPECT_EQ(json::parse(all.out).at("pending").as_array().size(), 1'300u);
  const Finished text = penstock({"pending", "s", "--group", "g"});
  EXPECT_NE(text.out.find("-o json lists all"), std::string::npos);
}

TEST_F(CliTest, hostile_names_drive_no_terminal) {
  const std::string stream("\x1b[2J\x1b]0;x\x07\n\xff\0evil", 17);
  const std::string group = "g\r\nforged line\x1b[31m\xe2\x80\xae";
  server_.cli({"XADD", stream, "*", "body", "x"});
  server_.cli({"XGROUP", "CREATE", stream, group, "0"});
  server_.cli({"XREADGROUP", "GROUP", group, "c\x1b[0m\n", "STREAMS", stream, ">"});
  const Finished text = penstock({"show"});
  EXPECT_EQ(code(text), 0) << text.err;
  EXPECT_TRUE(plain(text.out)) << text.out;
  EXPECT_EQ(text.out.find("\nforged"), std::string::npos);
  const json::value doc = json::parse(penstock({"show", "-o", "json"}).out);
  const json::value& shown = doc.at("streams").as_array().at(0);
  EXPECT_EQ(shown.at("name_hex").as_string(), "1b5b324a1b5d303b78070aff006576696c");
  EXPECT_TRUE(plain(penstock({"pending", "s", "--group", group}).out));
}

TEST_F(CliTest, output_that_cannot_be_written_is_said) {
  Spawn spawn = command({"send", "s", "--body", "x"});
  spawn.stdout_file = "/dev/full";
  Process process(std::move(spawn));
  EXPECT_EQ(process.wait(patience).value_or(ExitStatus{}).code, 74);
}

}  // namespace
}  // namespace penstock::test
