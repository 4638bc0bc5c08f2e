#!/usr/bin/env python3
"""The page of the last full run must say what ctest said: failures and skips too."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import full_run

PAGE = f"before\n{full_run.BEGIN}\nold\n{full_run.END}\nafter\n"
TESTS = """\
add_test(good "sh" "-c" "test \\"$PENSTOCK_TEST_FULL\\" = 1")
add_test(bad "false")
add_test(skipped "sh" "-c" "exit 77")
set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)
"""


class FullRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-full-test-")
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        self.page = self.build / "testing.md"
        self.page.write_text(PAGE)
        (self.build / "CTestTestfile.cmake").write_text(TESTS)

    def run_it(self, *arguments):
        return subprocess.run(
            [sys.executable, full_run.__file__, "--build", str(self.build), "--docs",
             str(self.page), *arguments], capture_output=True, text=True, check=False)

    def test_result_is_written_between_the_marks(self):
        done = self.run_it()
        self.assertNotEqual(done.returncode, 0, "one test failed")
        text = self.page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"), text)
        self.assertNotIn("old", text)
        self.assertIn("- tests: 3, passed 1, failed 1, skipped 1\n", text)
        self.assertRegex(text, r"\| bad \| [0-9.]+ \| failed \|")
        self.assertRegex(text, r"- commit: \S+")
        self.run_it()
        self.assertEqual(self.page.read_text().count(full_run.BEGIN), 1)

    def test_run_of_a_part_is_not_written(self):
        done = self.run_it("-R", "good")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.page.read_text(), PAGE)

    def test_page_without_marks_is_refused(self):
        self.page.write_text("nothing\n")
        done = self.run_it()
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.page.read_text(), "nothing\n")


if __name__ == "__main__":
    unittest.main()
