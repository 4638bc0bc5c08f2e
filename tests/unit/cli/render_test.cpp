#include "cli/render.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace penstock::cli {
namespace {

namespace json = boost::json;

StreamView stream() {
  ConsumerView worker;
  worker.name = "box.00000001";
  worker.pending = 2;
  worker.registered = true;
  worker.host = "box";
  worker.pid = 17;
  worker.lease_ms = 20'000;
  worker.renewed_ms_ago = 1'250;
  ConsumerView foreign;
  foreign.name = "other";
  foreign.idle_ms = 61'000;
  ConsumerView parked;
  parked.name = "penstock:parked";
  parked.parked = true;
  GroupView group;
  group.name = "g";
  group.leased = 2;
  group.parked = 3;
  group.dead = -1;
  group.oldest_pending_ms = 3'725'000;
  group.consumers = {worker, foreign, parked};
  StreamView out;
  out.name = "orders";
  out.exists = true;
  out.length = 1'000;
  out.retention = Retention::keep;
  out.groups = {group};
  return out;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Render, text_says_unknown_and_never_guesses) {
  const std::string text = streams_text({stream()}, false);
  EXPECT_TRUE(holds(text, "g      unknown       2       3  unknown  1h 2min")) << text;
  EXPECT_TRUE(holds(text, "lease 20.0s, renewed 1.2s ago, pid 17 on box")) << text;
  EXPECT_TRUE(holds(text, "keeps no leases, seen 1min 1s ago")) << text;
  EXPECT_FALSE(holds(text, "penstock:parked")) << text;
  EXPECT_FALSE(holds(text, "\x1b"));
  EXPECT_TRUE(holds(streams_text({stream()}, true), "\x1b[1m"));
}

TEST(Render, ready_at_least) {
  StreamView view = stream();
  view.groups[0].ready = 10'000;
  EXPECT_TRUE(holds(streams_text({view}, false), "  10000  "));
  view.groups[0].ready_capped = true;
  EXPECT_TRUE(holds(streams_text({view}, false), ">=10000"));
}

TEST(Render, a_missing_stream_is_zeros) {
  StreamView view;
  view.name = "nothing";
  const std::string text = streams_text({view}, false);
  EXPECT_TRUE(holds(text, "not initialised")) << text;
  EXPECT_TRUE(holds(text, "ready 0  leased 0  parked 0  dead 0")) << text;
  EXPECT_EQ(streams_text({}, false), "no streams\n");
}

TEST(Render, json_of_streams) {
  const json::value doc = json::parse(streams_json({stream()}));
  const json::value& s = doc.at("streams").as_array().at(0);
  EXPECT_EQ(s.at("name").as_string(), "orders");
  EXPECT_EQ(s.at("stored").as_int64(), 1'000);
  EXPECT_EQ(s.at("retention").as_string(), "keep");
  const json::value& g = s.at("groups").as_array().at(0);
  EXPECT_TRUE(g.at("ready").is_null());
  EXPECT_TRUE(g.at("dead").is_null());
  EXPECT_TRUE(g.at("oldest_ready_ms").is_null());
  EXPECT_EQ(g.at("oldest_pending_ms").as_int64(), 3'725'000);
  EXPECT_EQ(g.at("consumers").as_array().at(0).at("pid").as_int64(), 17);
  EXPECT_EQ(g.at("consumers").as_array().at(1).as_object().if_contains("pid"), nullptr);
}

TEST(Render, json_of_hostile_bytes_is_valid_and_loses_nothing) {
  StreamView view;
  view.name = "\x1b\n\xff\"";
  const json::value doc = json::parse(streams_json({view}));
  const json::value& s = doc.at("streams").as_array().at(0);
  EXPECT_EQ(s.at("name").as_string(), "\x1b\n\xEF\xBF\xBD\"");
  EXPECT_EQ(s.at("name_hex").as_string(), "1b0aff22");
  EXPECT_EQ(json::parse(json_text("\xc0")).as_string(), "\xEF\xBF\xBD");
}

TEST(Render, pending) {
  PendingView row;
  row.id = "5-1";
  row.owner = "penstock:parked";
  row.due_in_ms = -20;
  row.attempts = 2;
  row.delivery = 3;
  row.last_error = "exit 1: line\n\x1b[2J";
  const std::string text = pending_text({row}, true, false);
  EXPECT_TRUE(holds(text, "exit 1: line\\n\\x1b[2J")) << text;
  EXPECT_TRUE(holds(text, "now")) << text;
  row.due_in_ms = 90'000;
  EXPECT_TRUE(holds(pending_text({row}, false, false), "in 1min 30s"));
  const json::value doc = json::parse(pending_row_json(row));
  EXPECT_EQ(doc.at("due_in_ms").as_int64(), 90'000);
  EXPECT_TRUE(doc.at("first_failed_ms").is_null());
  EXPECT_EQ(doc.at("last_error").as_string(), "exit 1: line\n\x1b[2J");
}

TEST(Render, sent_lines) {
  EXPECT_EQ(sent_json("5-1", "", ""), "{\"id\":\"5-1\"}\n");
  const json::value failed = json::parse(sent_json("", "timed out", "no\nanswer"));
  EXPECT_TRUE(failed.at("id").is_null());
  EXPECT_EQ(failed.at("text").as_string(), "no\nanswer");
}

}  // namespace
}  // namespace penstock::cli
