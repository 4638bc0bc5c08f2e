#!/usr/bin/env python3
"""The main job on a private redis-server: three workers, 10,000 messages, one worker killed and one
closed in the middle. Ends with a table that must add up; exit code 1 where it does not.

usage: demo.py [--messages N] [--json] ...        (scripts/demo builds first)
"""
import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import demo_sums

ROOT = Path(__file__).parents[1]
STREAM, GROUP = "orders", "billing"
LEFT, KILLED, CLOSED = "ann", "ben", "cleo"
CONCURRENCY, PREFETCH = 8, 64  # as in examples/demo_worker.cpp


class Failed(Exception):
    pass


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class World:
    """The server, the workers and their folder; `close` leaves nothing of them."""

    def __init__(self, options):
        self.options = options
        build = options.build.resolve()
        self.program = str(build / "src/cli/penstock")
        self.worker = str(build / "examples/demo_worker")
        for needed in (self.program, self.worker):
            if not os.access(needed, os.X_OK):
                raise Failed(f"{needed} is not built; scripts/demo builds it")
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-demo-", dir="/tmp")
        self.path = Path(self.folder.name)
        self.socket = self.path / "redis.sock"
        self.url = f"unix://{self.socket}"
        self.log = open(self.path / "log", "ab")
        (self.path / "records").touch()
        self.records = demo_sums.Records(self.path / "records")
        self.processes, self.workers = [], {}
        self.deadline = time.monotonic() + options.seconds

    def spawn(self, *argv):
        # A session of its own: Ctrl-C reaches this program alone, which then ends the others.
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.log,
                                   stderr=subprocess.STDOUT, start_new_session=True,
                                   preexec_fn=die_with_parent)
        self.processes.append(process)
        return process

    def start_server(self):
        self.spawn("redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "",
                   "--dir", str(self.path))
        self.until(lambda: self.redis("PING", check=False) == "PONG", "redis-server to answer")

    def start_worker(self, name):
        o = self.options
        self.workers[name] = self.spawn(
            self.worker, self.url, STREAM, GROUP, name, str(self.records.path),
            str(round(o.lease * 1000)), str(round(o.sweep * 1000)), str(o.run_ms))

    def until(self, condition, what):
        while not condition():
            if time.monotonic() > self.deadline:
                raise Failed(f"{self.options.seconds:g} s are over, still waiting for {what}")
            for name, process in self.workers.items():
                if name != KILLED and process.poll() not in (None, 0):
                    raise Failed(f"worker {name} ended with {process.returncode}")
            time.sleep(0.01)

    def redis(self, *arguments, check=True):
        done = subprocess.run(["redis-cli", "-s", str(self.socket), *arguments], text=True,
                              capture_output=True, timeout=10, check=check)
        return done.stdout.strip()

    def send(self, count):
        """The ids, in order: message n is the line that says n."""
        done = subprocess.run([self.program, "send", STREAM, "--lines", "--url", self.url],
                              input="".join(f"{n}\n" for n in range(1, count + 1)), text=True,
                              capture_output=True, timeout=self.options.seconds, check=False)
        if done.returncode != 0:
            raise Failed(f"send ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout.split()

    def held_by(self, name):
        """Ids of the entries that are pending with a worker, as the server sees it."""
        rows = self.redis("XPENDING", STREAM, GROUP, "-", "+", "1000000").split("\n")
        return [rows[i] for i in range(0, len(rows) - 3, 4) if rows[i + 1].startswith(name + ".")]

    def left(self):
        """What the server still holds: pending, stored, parked, dead."""
        return [int(self.redis(*command).split("\n")[0]) for command in (
            ("XPENDING", STREAM, GROUP), ("XLEN", STREAM), ("ZCARD", f"{{{STREAM}}}.due:{GROUP}"),
            ("XLEN", f"{{{STREAM}}}.dead"))]

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.kill()
            process.wait()
        self.log.close()
        self.folder.cleanup()


class Progress:
    """One line that is written over on a terminal; a line each second elsewhere."""

    def __init__(self, world, out):
        self.world, self.out = world, out
        self.begin, self.shown = time.monotonic(), 0.0
        self.terminal = out.isatty()

    def reached(self, count):
        world, now = self.world, time.monotonic()
        done, total = len(world.records.read().done), world.options.messages
        if now - self.shown >= (0.1 if self.terminal else 1.0):
            self.shown = now
            alive = [n for n, p in world.workers.items() if p.poll() is None]
            bar = "#" * (done * 30 // total)
            self.say(f"[{bar:<30}] {done:>6} of {total}, workers: {' '.join(alive)}",
                     "" if self.terminal else "\n")
        return done >= count

    def say(self, text, end="\n"):
        clear = "\r\033[K" if self.terminal else ""
        print(f"{clear}{time.monotonic() - self.begin:5.1f} s  {text}", end=end, file=self.out,
              flush=True)


def run(world, out):
    """The main job; answers what the table is made of."""
    o, progress = world.options, Progress(world, out)
    world.start_server()
    for name in (LEFT, KILLED, CLOSED):
        world.start_worker(name)
    progress.say(f"three workers ({LEFT}, {KILLED}, {CLOSED}), each with {CONCURRENCY} threads and "
                 f"prefetch {PREFETCH}")
    progress.say(f"lease {o.lease:g} s, sweep {o.sweep:g} s; a run takes {o.run_ms} ms")
    ids = world.send(o.messages)
    number = {entry: n for n, entry in enumerate(ids, 1)}
    progress.say(f"sent {len(ids)} messages")

    world.until(lambda: progress.reached(o.messages // 4), "a quarter to be done")
    victim = world.workers[KILLED]
    victim.kill()
    victim.wait()
    killed_at = time.monotonic()
    orphans = [number[e] for e in world.held_by(KILLED)]
    progress.say(f"killed {KILLED} (SIGKILL): it held {len(orphans)} messages")

    world.until(lambda: progress.reached(o.messages // 2), "half to be done")
    closing = world.workers[CLOSED]
    closing.send_signal(signal.SIGSTOP)  # for the few milliseconds of looking at what it holds
    held = [number[e] for e in world.held_by(CLOSED)]
    closed_at = time.monotonic()
    closing.send_signal(signal.SIGTERM)
    closing.send_signal(signal.SIGCONT)
    world.until(lambda: progress.reached(o.messages + 1) or closing.poll() is not None,
                f"{CLOSED} to end")
    progress.say(f"closed {CLOSED} (SIGTERM): it held {len(held)} messages and ended with "
                 f"{closing.returncode} after {time.monotonic() - closed_at:.2f} s")

    world.until(lambda: progress.reached(o.messages) and world.left()[:3] == [0, 0, 0],
                "all messages to be done and settled")
    world.workers[LEFT].terminate()
    world.until(lambda: world.workers[LEFT].poll() is not None, f"{LEFT} to end")
    progress.say(f"all are done; closed {LEFT}")
    pending, stored, parked, dead = world.left()
    return demo_sums.Facts(
        sent=len(ids), runs=world.records.read().runs, killed=KILLED, killed_at=killed_at,
        orphans=orphans, closed=CLOSED, closed_at=closed_at, held=held, pending=pending,
        stored=stored, parked=parked, dead=dead,
        codes={name: world.workers[name].returncode for name in (LEFT, CLOSED)},
        promise_killed=(o.lease + o.sweep + 1.0) * o.patience, promise_handed=o.patience)


def report(facts, as_json=False, out=sys.stdout):
    """Prints the table; 1 where it does not add up."""
    sums = demo_sums.sums(facts)
    wrong = demo_sums.faults(sums)
    if as_json:
        endless = {k: None for k, v in sums.items() if v == demo_sums.NEVER}
        print(json.dumps({**sums, **endless, "faults": wrong}), file=out)
    else:
        print(f"\n{demo_sums.table(sums)}\n", file=out)
        print("It adds up." if not wrong else "It does not add up: " + "; ".join(wrong) + ".",
              file=out)
    return 1 if wrong else 0


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--messages", type=int, default=10_000, metavar="N", help="1000 or more (10000)")
    add("--run-ms", type=int, default=8, metavar="MS", help="how long a handler takes (8)")
    add("--lease", type=float, default=4.0, metavar="S", help="penstock's own default is 20")
    add("--sweep", type=float, default=1.0, metavar="S", help="penstock's own default is 5")
    add("--seconds", type=float, default=44.0, metavar="S", help="fails when it takes longer (44)")
    add("--patience", type=float, default=1.0, metavar="X",
        help="multiplies the promised times, for slow machines (1)")
    add("--json", action="store_true", help="the table as JSON; progress goes to standard error")
    add("--build", type=Path, default=ROOT / "build/release", metavar="FOLDER")
    options = parser.parse_args(arguments)
    if options.messages < 1000:
        parser.error("--messages below 1000: done before a worker could be killed")
    if options.run_ms < 1:
        parser.error("--run-ms below 1: a worker would hold nothing when it is killed")
    return options


def main(arguments):
    options = parse(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    world = None
    try:
        world = World(options)
        facts = run(world, sys.stderr if options.json else sys.stdout)
        return report(facts, options.json)
    except (Failed, ValueError, OSError, subprocess.SubprocessError) as error:
        log = (world.path / "log").read_text(errors="replace")[-3000:] if world else ""
        print(f"\ndemo: {error}\n{log}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndemo: interrupted", file=sys.stderr)
        return 130
    finally:
        if world:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # nothing is left behind, however impatient
            world.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
