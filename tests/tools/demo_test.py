#!/usr/bin/env python3
"""The demo's sums, on planted records: what does not add up must end with a non-zero code."""
import io
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
sys.dont_write_bytecode = True

import demo  # noqa: E402
import demo_sums  # noqa: E402

KILLED_AT, CLOSED_AT = 10.0, 12.0


def line(kind, message, worker, delivery, at):
    return f"{kind} {message} {worker} {delivery} {int(at * 1e9)}\n"


def run(message, worker, delivery, start, end=None):
    text = line("S", message, worker, delivery, start)
    return text if end is None else text + line("E", message, worker, delivery, end)


# 1: plain. 2: cut short by the kill, then elsewhere. 3: waited in the killed worker. 4: had ended
# there, not acked. 5: handed back. 6: ran in the closed worker to its end.
GOOD = {
    1: run(1, "ann", 1, 9.0, 9.1),
    2: run(2, "ben", 1, 9.99) + run(2, "ann", 2, 15.0, 15.1),
    3: run(3, "ann", 2, 15.2, 15.3),
    4: run(4, "ben", 1, 9.9, 9.98) + run(4, "ann", 2, 15.4, 15.5),
    5: run(5, "ann", 2, 12.3, 12.4),
    6: run(6, "cleo", 1, 11.99, 12.1),
}


def judge(records, **changes):
    """Exit code and words of the report on these records."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(records.values()))
        file.flush()
        read = demo_sums.Records(file.name).read()
    facts = dict(sent=6, runs=read.runs, killed="ben", killed_at=KILLED_AT, orphans=[2, 3, 4],
                 closed="cleo", closed_at=CLOSED_AT, held=[5, 6], pending=0, stored=0, parked=0,
                 dead=0, codes={"ann": 0, "cleo": 0}, promise_killed=6.0, promise_handed=1.0)
    out = io.StringIO()
    code = demo.report(demo_sums.Facts(**{**facts, **changes}), out=out)
    return code, out.getvalue()


class Sums(unittest.TestCase):
    def expect(self, words, records, **changes):
        code, text = judge(records, **changes)
        self.assertEqual(code, 1, text)
        self.assertIn(words, text.splitlines()[-1])

    def test_good_records_add_up(self):
        code, text = judge(GOOD)
        self.assertEqual(code, 0, text)
        self.assertIn("It adds up.", text)
        self.assertRegex(text, r"run again +2 +the kill cut 1 short, and 1 had ended")
        self.assertRegex(text, r"killed, 3 held +5\.40 s")
        self.assertRegex(text, r"closed, 1 unstarted +0\.30 s")

    def test_planted_loss(self):
        for gone in ("", run(1, "ann", 1, 9.0)):
            self.expect("messages were lost", {**GOOD, 1: gone})

    def test_planted_overlap(self):
        twice = run(1, "ann", 1, 9, 9.5) + run(1, "cleo", 2, 9.4, 9.6)
        self.expect("at one time", {**GOOD, 1: twice})

    def test_overlap_with_a_run_that_never_ended(self):
        self.expect("at one time", {**GOOD, 1: run(1, "cleo", 1, 9) + run(1, "ann", 2, 11, 11.1)})

    def test_overlap_with_the_killed_worker_before_the_kill(self):
        self.expect("at one time", {**GOOD, 2: run(2, "ben", 1, 9) + run(2, "ann", 2, 9.9, 9.95)})

    def test_run_again_without_reason(self):
        self.expect("without a reason",
                    {**GOOD, 1: run(1, "ann", 1, 9, 9.1) + run(1, "cleo", 2, 9.2, 9.3)})

    def test_run_that_nobody_sent(self):
        self.expect("that nobody sent", {**GOOD, 7: run(7, "ann", 1, 9, 9.1)})

    def test_killed_ones_late_or_never_elsewhere(self):
        self.expect("killed worker's messages ran too late", GOOD, promise_killed=5.0)
        self.expect("killed worker's messages ran too late", {**GOOD, 3: ""})

    def test_handed_back_ones_late(self):
        self.expect("handed-back messages ran too late", {**GOOD, 5: run(5, "ann", 2, 13.1, 13.2)})

    def test_what_the_server_still_holds(self):
        for name in ("pending", "stored", "parked"):
            self.expect("still holds", GOOD, **{name: 1})
        self.expect("dead letters", GOOD, dead=1)

    def test_exit_codes(self):
        self.expect("workers ended with", GOOD, codes={"ann": 0, "cleo": 75})

    def test_a_demo_that_shows_nothing(self):
        self.expect("killed worker held nothing", GOOD, orphans=[])
        self.expect("held nothing unstarted", GOOD, held=[6])

    def test_acked_in_flight_at_the_kill_is_not_waited_for(self):
        code, text = judge({**GOOD, 4: run(4, "ben", 1, 9.9, 9.98)})
        self.assertEqual(code, 0, text)

    def test_records_that_make_no_sense(self):
        with self.assertRaises(ValueError):
            judge({**GOOD, 1: line("E", 1, "ann", 1, 9)})


if __name__ == "__main__":
    unittest.main()
