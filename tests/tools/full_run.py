#!/usr/bin/env python3
"""Runs every test in its full form and writes the result into docs/testing.md, between the marks.

usage: full_run.py --build FOLDER [--docs FILE] [ctest arguments]
A run of a part (ctest arguments such as -R) is not written. Exit code: ctest's own.
"""
import argparse
import datetime
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
BEGIN = "<!-- full run: begin (written by tests/run --full) -->"
END = "<!-- full run: end -->"


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit_name():
    name = git("rev-parse", "--short=12", "HEAD") or "unknown"
    # The block itself may be modified: it is what the last run wrote.
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".",
                  ":!docs/testing.md")
    return name + (" with local changes" if changed else "")


def read_results(junit):
    """[(name, seconds, "passed" | "failed" | "skipped")], the slowest first."""
    results = []
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        status = {"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped")
        results.append((case.get("name"), float(case.get("time") or 0), status))
    return sorted(results, key=lambda r: -r[1])


def block(results, seconds, commit, date):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for _, _, status in results:
        count[status] += 1
    lines = [
        BEGIN, "",
        f"- date: {date}",
        f"- commit: {commit}",
        f"- tests: {len(results)}, passed {count['passed']}, failed {count['failed']}, "
        f"skipped {count['skipped']}",
        f"- seconds: {seconds:.0f}", "",
        "The ten longest, and all that did not pass:", "",
        "| test | seconds | result |", "|---|---|---|",
    ]
    for index, (name, taken, status) in enumerate(results):
        if index < 10 or status != "passed":
            lines.append(f"| {name} | {taken:.1f} | {status} |")
    return "\n".join([*lines, "", END])


def replace_block(text, new):
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.S)
    if len(pattern.findall(text)) != 1:
        raise SystemExit(f"full_run: the marks are not in the page exactly once: {BEGIN}")
    return pattern.sub(lambda _: new, text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--docs", default=str(ROOT / "docs/testing.md"))
    options, ctest_arguments = parser.parse_known_args()
    commit = commit_name()
    jobs = str((os.cpu_count() or 1) + 2)
    with TemporaryDirectory(prefix="penstock-full-") as folder:
        junit = Path(folder, "junit.xml")
        begin = time.monotonic()
        done = subprocess.run(
            ["ctest", "--test-dir", options.build, "--output-on-failure", "--no-tests=error",
             "-j", jobs, "--output-junit", str(junit), *ctest_arguments],
            env={**os.environ, "PENSTOCK_TEST_FULL": "1"}, check=False)
        seconds = time.monotonic() - begin
        if ctest_arguments:
            print("full_run: a part only; docs/testing.md stays as it is", file=sys.stderr)
            return done.returncode
        if not junit.exists():
            return done.returncode or 1
        results = read_results(junit)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    page = Path(options.docs)
    page.write_text(replace_block(page.read_text(), block(results, seconds, commit, date)))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
