#!/usr/bin/env python3
"""scripts/setup must be silent where all is there, and say what to do where it may not install."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).parents[2] / "scripts/setup"
ALL_THERE = 'shift 3; for p in "$@"; do echo "installed $p"; done'
ONE_MISSING = ('shift 3; for p in "$@"; do [ "$p" = mold ] || echo "installed $p"; done; '
               'echo "no packages found matching mold" >&2; exit 1')
REMOVED = 'shift 3; for p in "$@"; do echo "config-files $p"; done'


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-setup-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for tool in ("bash", "env"):
            (self.folder / tool).symlink_to(f"/usr/bin/{tool}")

    def fake(self, name, script):
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def run_it(self):
        return subprocess.run([str(SETUP)], env={"PATH": str(self.folder)}, timeout=30,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)

    def calls(self):
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    def test_all_there_is_silent_and_calls_nobody(self):
        self.fake("dpkg-query", ALL_THERE)
        done = self.run_it()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_root_installs_what_is_missing_only(self):
        self.fake("dpkg-query", ONE_MISSING)
        self.fake("id", "echo 0")
        self.fake("apt-get", f'echo "$@" >> {self.folder}/log')
        self.assertEqual(self.run_it().returncode, 0)
        self.assertEqual(len(self.calls()), 2)
        self.assertTrue(self.calls()[0].endswith("update"), self.calls())
        self.assertTrue(self.calls()[1].endswith("--no-install-recommends mold"), self.calls())

    def test_removed_package_whose_settings_stay_is_missing(self):
        self.fake("dpkg-query", REMOVED)
        self.fake("id", "echo 1000")
        self.assertEqual(self.run_it().returncode, 77)

    def test_no_root_and_no_sudo_is_77_with_the_line_to_run(self):
        self.fake("dpkg-query", ONE_MISSING)
        self.fake("id", "echo 1000")
        self.fake("apt-get", f'echo "$@" >> {self.folder}/log')
        for sudo in (None, "exit 1"):
            if sudo:
                self.fake("sudo", sudo)
            done = self.run_it()
            self.assertEqual(done.returncode, 77)
            self.assertIn("missing packages: mold\n", done.stderr)
            self.assertIn("apt-get install -y --no-install-recommends mold\n", done.stderr)
        self.assertEqual(self.calls(), [])

    def test_sudo_without_a_password_installs(self):
        self.fake("dpkg-query", ONE_MISSING)
        self.fake("id", "echo 1000")
        self.fake("sudo", f'echo "sudo $@" >> {self.folder}/log')
        self.assertEqual(self.run_it().returncode, 0)
        self.assertTrue(self.calls()[-1].endswith("mold"), self.calls())

    def test_no_network_is_69_with_the_line_to_run(self):
        self.fake("dpkg-query", ONE_MISSING)
        self.fake("id", "echo 0")
        self.fake("apt-get", "exit 100")
        done = self.run_it()
        self.assertEqual(done.returncode, 69)
        self.assertIn("missing packages: mold\n", done.stderr)

    def test_no_debian_is_69(self):
        done = self.run_it()
        self.assertEqual(done.returncode, 69)
        self.assertIn("not Debian", done.stderr)


if __name__ == "__main__":
    os.umask(0o022)
    unittest.main()
