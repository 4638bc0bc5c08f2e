#!/usr/bin/env python3
"""The main job on a private redis-server: three workers, 10,000 messages, one worker killed and one
closed in the middle. Ends with a table that must add up; exit code 1 where it does not.

usage: demo.py [--messages N] [--build FOLDER]        (scripts/demo builds first)
"""
import argparse
import ctypes
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
STREAM, GROUP = "orders", "billing"
LEASE_S, SWEEP_S = 2.0, 0.5
WAIT_S_MAX = 60.0
HANDLER_MS = 2
# tests/support/ledger.hpp: one record at the start and one at the end of each run.
RECORD = struct.Struct("=4sBBBBIIiIq48s48s")
START, END, ACK = 1, 2, 1


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class World:
    """The server, the workers and their folder; `close` leaves nothing of them."""

    def __init__(self, build):
        self.program = str(build / "src/cli/penstock")
        self.handler = str(build / "tests/support/penstock_ledger_handler")
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-demo-", dir="/tmp")
        self.path = Path(self.folder.name)
        self.socket, self.ledger = self.path / "redis.sock", self.path / "ledger"
        self.env = {**os.environ, "PENSTOCK_URL": f"unix://{self.socket}"}
        self.processes = []
        self.workers = {}

    def spawn(self, *argv, env=None):
        process = subprocess.Popen(
            argv, env=env or self.env, stdin=subprocess.DEVNULL,
            stdout=open(self.path / "log", "ab"), stderr=subprocess.STDOUT,
            start_new_session=True, preexec_fn=die_with_parent)
        self.processes.append(process)
        return process

    def start_server(self):
        self.spawn("redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "",
                   "--dir", str(self.path))
        until(lambda: self.redis("PING", check=False) == "PONG", "redis-server to answer", 10)

    def start_worker(self, name):
        self.workers[name] = self.spawn(
            self.program, "work", STREAM, "--group", GROUP, "--consumer", name,
            "--concurrency", "4", "--lease", f"{int(LEASE_S * 1000)}ms",
            "--sweep", f"{int(SWEEP_S * 1000)}ms",
            "--exec", f"{self.handler} {self.ledger} {HANDLER_MS}",
            env={**self.env, "PENSTOCK_LEDGER_WORKER": name})

    def redis(self, *arguments, check=True):
        done = subprocess.run(["redis-cli", "-s", str(self.socket), *arguments], text=True,
                              capture_output=True, timeout=10, check=check)
        return done.stdout.strip()

    def send(self, count):
        body = "".join(f"{n}\n" for n in range(1, count + 1))
        done = subprocess.run([self.program, "send", STREAM, "--lines"], input=body, text=True,
                              env=self.env, capture_output=True, timeout=WAIT_S_MAX, check=False)
        if done.returncode != 0:
            raise Failed(f"send ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout.split()

    def held_by(self, name):
        """Entry ids that the server shows as pending with a worker."""
        rows = self.redis("XPENDING", STREAM, GROUP, "-", "+", "1000000").split("\n")
        return [rows[i] for i in range(0, len(rows) - 3, 4) if rows[i + 1].startswith(name + ".")]

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.kill()
            process.wait()
        self.folder.cleanup()


class Failed(Exception):
    pass


def until(condition, what, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"waited {seconds} s for {what}")
        time.sleep(0.02)


class Progress:
    """One line that is written over on a terminal; a line each second elsewhere."""

    def __init__(self, world, total):
        self.world, self.total = world, total
        self.begin = time.monotonic()
        self.shown = 0.0
        self.terminal = sys.stdout.isatty()

    def done(self):
        """Ends in the ledger, reruns included: half of its records, near enough to steer by."""
        try:
            return self.world.ledger.stat().st_size // (2 * RECORD.size)
        except FileNotFoundError:
            return 0

    def reached(self, count):
        done, now = self.done(), time.monotonic()
        if now - self.shown >= (0.1 if self.terminal else 1.0):
            self.shown = now
            alive = [n for n, p in self.world.workers.items() if p.poll() is None]
            part = min(1.0, done / self.total)
            bar = "#" * int(part * 30)
            self.write(f"{now - self.begin:5.1f} s  [{bar:<30}] {min(done, self.total):>6} of "
                       f"{self.total}, workers: {' '.join(alive)}")
        return done >= count

    def write(self, text):
        print(("\r\033[K" if self.terminal else "") + text,
              end="" if self.terminal else "\n", flush=True)

    def say(self, text):
        print(("\r\033[K" if self.terminal else "") + f"{time.monotonic() - self.begin:5.1f} s  "
              + text, flush=True)


def read_ledger(path):
    """The runs by message: [[start s, end s or None, worker, outcome]] in order of start."""
    runs, opened = defaultdict(list), {}
    for record in RECORD.iter_unpack(path.read_bytes()):
        magic, kind, outcome, id_size, worker_size, _, _, pid, run, at_ns, name, worker = record
        if magic != b"PLG1":
            raise Failed("the ledger is damaged")
        message, key = int(name[:id_size]), (pid, run, name, worker)
        if kind == START:
            opened[key] = [at_ns / 1e9, None, worker[:worker_size].decode(), 0]
            runs[message].append(opened[key])
        else:
            opened[key][1], opened[key][3] = at_ns / 1e9, outcome
    for of_one in runs.values():
        of_one.sort(key=lambda r: r[0])
    return runs


def overlaps(runs, killed, killed_at):
    """Two runs of one message at one time. A run that was cut short ended with its worker."""
    latest = None
    for start, end, worker, _ in runs:
        if latest is not None and start < latest:
            return True
        if end is None:
            end = max(start, killed_at) if worker == killed else float("inf")
        latest = end if latest is None else max(latest, end)
    return False


def elsewhere(runs, messages, worker, at):
    """Seconds from `at` to the first start by another worker, for those that had one."""
    seconds = []
    for message in messages:
        starts = [r[0] - at for r in runs[message] if r[0] >= at and r[2] != worker]
        own = [r for r in runs[message] if r[2] == worker and (r[0] >= at or r[1])]
        if starts or not own:
            seconds.append(min(starts, default=float("inf")))
    return seconds


def run(world, count):
    world.start_server()
    begin = time.monotonic()
    ids = world.send(count)
    number = {entry: n for n, entry in enumerate(ids, 1)}
    print(f"sent {len(ids)} messages in {time.monotonic() - begin:.1f} s; "
          f"lease {LEASE_S:g} s, sweep {SWEEP_S:g} s; each message runs a program")
    for name in ("ann", "ben", "cleo"):
        world.start_worker(name)
    progress = Progress(world, count)

    until(lambda: progress.reached(count // 3), "a third to be done", WAIT_S_MAX)
    ben = world.workers["ben"]
    ben.kill()
    ben.wait()
    killed_at = time.monotonic()
    orphans = [number[e] for e in world.held_by("ben")]
    progress.say(f"killed ben (SIGKILL); it held {len(orphans)} messages")

    until(lambda: progress.reached(count * 6 // 10), "more than half to be done", WAIT_S_MAX)
    cleo = world.workers["cleo"]
    cleo.send_signal(signal.SIGSTOP)  # for the few milliseconds of looking at what it holds
    held = [number[e] for e in world.held_by("cleo")]
    closed_at = time.monotonic()
    cleo.send_signal(signal.SIGTERM)
    cleo.send_signal(signal.SIGCONT)
    code = cleo.wait(30)
    progress.say(f"closed cleo (SIGTERM); it held {len(held)} messages, and ended with {code} "
                 f"after {time.monotonic() - closed_at:.2f} s")

    until(lambda: progress.reached(count) and world.redis("XLEN", STREAM) == "0",
          "the stream to be empty", WAIT_S_MAX)
    progress.say("the stream is empty")
    world.workers["ann"].terminate()
    codes = [code, world.workers["ann"].wait(30)]
    dead = int(world.redis("XLEN", f"{{{STREAM}}}.dead"))
    return ids, dead, codes, ("ben", killed_at, orphans), ("cleo", closed_at, held)


def report(world, ids, dead, codes, killing, closing):
    runs = read_ledger(world.ledger)
    done = sum(any(r[3] == ACK for r in of_one) for of_one in runs.values())
    overlapped = sum(overlaps(of_one, *killing[:2]) for of_one in runs.values())
    twice = sum(sum(r[3] == ACK for r in of_one) > 1 for of_one in runs.values())
    orphaned = elsewhere(runs, killing[2], *killing[:2])
    handed = elsewhere(runs, closing[2], *closing[:2])
    rows = [
        ("sent", len(ids), ""),
        ("done", done, "must equal sent"),
        ("lost", len(ids) - done, "must be 0"),
        ("overlapped", overlapped, "must be 0: two workers on one message at one time"),
        ("dead letters", dead, "must be 0"),
        ("done again", twice, "by the kill, between a run's end and its ack"),
        (f"killed worker's {len(orphaned)}", f"{max(orphaned, default=0):.2f} s",
         f"until all ran elsewhere; promised {LEASE_S + SWEEP_S + 1:g} s"),
        (f"handed-back {len(handed)}", f"{max(handed, default=0):.2f} s",
         "until all ran elsewhere; promised 1 s"),
    ]
    print()
    for name, value, note in rows:
        print(f"  {name:<22} {value:>9}   {note}")
    print()
    faults = [
        (done != len(ids), "done is not sent"), (overlapped != 0, "messages overlapped"),
        (dead != 0, "there are dead letters"), (codes != [0, 0], f"workers ended with {codes}"),
        (twice > len(killing[2]), "more was done again than the killed worker held"),
        (not orphaned, "the killed worker held nothing: nothing was shown"),
        (float("inf") in orphaned + handed, "a message never ran elsewhere"),
    ]
    wrong = [text for fault, text in faults if fault]
    print("It adds up." if not wrong else "It does not add up: " + "; ".join(wrong))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--messages", type=int, default=10_000, metavar="N")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", metavar="FOLDER")
    options = parser.parse_args()
    if options.messages < 1000:
        parser.error("--messages below 1000: done before a worker could be killed")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    world = World(options.build.resolve())
    try:
        return report(world, *run(world, options.messages))
    except (Failed, OSError, subprocess.SubprocessError) as error:
        log = world.path / "log"
        tail = log.read_text(errors="replace")[-3000:] if log.exists() else ""
        print(f"\ndemo: {error}\n{tail}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        world.close()


if __name__ == "__main__":
    sys.exit(main())
