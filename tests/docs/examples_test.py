#!/usr/bin/env python3
"""The example programs, on a private server. usage: examples_test.py BUILD"""
import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import SCALE, Sandbox, eventually

BUILD = Path(sys.argv[1]).resolve()


class Examples(unittest.TestCase):
    def send(self, url, *bodies):
        return subprocess.run([BUILD / "examples/send", *bodies], text=True, capture_output=True,
                              env={**os.environ, "PENSTOCK_URL": url}, timeout=20 * SCALE,
                              check=False)

    def test_quickstart_handles_what_send_sends_and_drains(self):
        with Sandbox() as box:
            url = box.start_redis()
            sent = self.send(url, "five apples", "")
            self.assertEqual(sent.returncode, 0, sent.stderr)
            self.assertRegex(sent.stdout, r"\A(\d+-\d+\n){2}\Z")
            with open(box.path / "out", "w") as out:
                worker = box.start(BUILD / "examples/quickstart", url, stdout=out)
            eventually(lambda: (box.path / "out").read_text() == "charged: five apples\n",
                       "the order to be charged")
            pending = [BUILD / "src/cli/penstock", "pending", "orders", "--group", "billing",
                       "--url", url]
            eventually(lambda: "an order without text" in subprocess.run(
                pending, text=True, capture_output=True, check=False).stdout, "the failed order")
            worker.terminate()
            self.assertEqual(worker.wait(30 * SCALE), 0)

    def test_send_says_that_there_is_no_server(self):
        sent = self.send("unix:///nowhere/redis.sock", "x")
        self.assertEqual((sent.returncode, sent.stdout), (1, ""))
        self.assertIn("/nowhere/redis.sock", sent.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
