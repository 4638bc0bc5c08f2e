#include "cli/help.hpp"

namespace penstock::cli {
namespace {

constexpr std::string_view program_help =
    R"(penstock - messages from Redis streams to the code that handles them

  penstock send STREAM        put messages on a stream
  penstock work STREAM...     run a command for each message
  penstock show [STREAM]      streams, groups and consumers: ready, leased, parked, dead
  penstock pending STREAM     the entries of a group that are not settled yet

  penstock COMMAND --help     the options of a command, with examples

Options of all commands
  --url URL          the server; else $PENSTOCK_URL, else redis://localhost:6379
                     redis://user:password@host:port/db  or  unix:///path/to.sock
  -h, --help         this text
  --version          the version

Exit codes
  0 ok   64 usage   69 server unreachable   70 hung   74 input or output broke
  75 closing took too long   78 bad configuration   1 anything else
)";

constexpr std::string_view send_help = R"(penstock send STREAM [--body TEXT | --lines] [options]

Puts messages on a stream and prints their ids, one per line. Without --body and --lines
the whole of standard input is the body of one message.

  --body TEXT        the body (--body=TEXT where TEXT begins with a dash)
  --lines            one message for each line of standard input
  --field NAME=VALUE a further field of each message; may be repeated
  --count N          send each message N times
  --timeout D        the longest a run of this message may take, such as 30s
  --url URL          the server; else $PENSTOCK_URL, else redis://localhost:6379
  -o, --output F     text, or json: one document per line and message

Examples
  penstock send orders --body '{"order": 17}'
  penstock send orders --field tenant=acme < order.json
  tail -f events.log | penstock send events --lines
)";

constexpr std::string_view work_help = R"(penstock work STREAM... --group G --exec CMD [options]

Runs CMD once for each message: the body on its standard input, the id and the headers in
its environment (PENSTOCK_ID, PENSTOCK_HEADER_<NAME>, ...). What it exits with decides:
  0 done   65 dead letter   75 retry   76 not finished, look again later   77 hand back
  anything else, or a signal: a failed attempt, with the end of its standard error as reason.
SIGTERM and SIGINT close the worker: nothing new is taken, running commands may finish.

  --group G          the consumer group (made where it is missing)
  --exec CMD         the command; words are split as a shell does, but no shell runs
  --shell            CMD is a line for /bin/sh -c
  --consumer NAME    name part of the consumer (the host's name)
  --concurrency N    messages handled at once (1)
  --prefetch N       unsettled messages per stream: 1..1024, auto or none (auto)
  --lease D          how long a silent worker is believed alive (20s)
  --sweep D          how often lapsed messages of others are looked for (5s)
  --max-run D        the longest a run may take, or none (15min)
  --attempts N       runs before a message is a dead letter (5)
  --backoff MIN..MAX the waits between them (1s..10min)
  --not-yet D        when a "not finished" message is looked at again (30s)
  --drain D          the longest that closing may take (25s)
  --retention R      acked entries: delete_on_ack, trim_settled or keep
                     (delete_on_ack for a stream that penstock made, else keep)
  --start ID         where a new group begins: an entry id, or $ for "only new ones" (0)
  --url URL          the server; else $PENSTOCK_URL, else redis://localhost:6379
Durations: 250ms, 2s, 5min, 1h.

Examples
  penstock work orders --group billing --exec './charge --live' --concurrency 8
  penstock work events --group audit --shell --exec 'jq .user >> users.log'
)";

constexpr std::string_view show_help = R"(penstock show [STREAM] [options]

Shows streams, their groups and consumers. All streams, or one.
  ready    not yet handed to the group     leased  with a worker now
  parked   waits for its time to run again  dead    in the dead letters
  unknown  the server does not know

  --url URL          the server; else $PENSTOCK_URL, else redis://localhost:6379
  -o, --output F     text, or json: one document

Examples
  penstock show
  penstock show orders -o json
)";

constexpr std::string_view pending_help = R"(penstock pending STREAM --group G [options]

Lists the entries that were handed to the group and are not settled yet, by id: owner, how
long it was silent, deliveries, failed attempts, when it is due, the last error. As text at
most the first 1,000; as JSON all.

  --group G          the consumer group
  --url URL          the server; else $PENSTOCK_URL, else redis://localhost:6379
  -o, --output F     text, or json: one document

Example
  penstock pending orders --group billing
)";

}  // namespace

std::string help_text(std::string_view command) {
  if (command == "send") return std::string(send_help);
  if (command == "work") return std::string(work_help);
  if (command == "show") return std::string(show_help);
  if (command == "pending") return std::string(pending_help);
  return std::string(program_help);
}

std::string version_text() { return "penstock " PENSTOCK_VERSION "\n"; }

}  // namespace penstock::cli
