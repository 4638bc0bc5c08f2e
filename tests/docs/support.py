"""A private redis-server, and processes that never outlive the test."""
import ctypes
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCALE = float(os.environ.get("TEST_TIME_SCALE", "1"))


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def eventually(condition, what, seconds=15.0):
    deadline = time.monotonic() + seconds * SCALE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.02)


class Sandbox:
    """A temporary folder, and the process groups begun in it."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-docs-", dir="/tmp")
        self.path = Path(self.folder.name)
        self.started = []
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            try:
                os.killpg(process.pid, signal.SIGKILL)  # its own session: the group is ours alone
            except ProcessLookupError:
                pass
            process.wait()
        self.folder.cleanup()

    def start(self, *argv, **more):
        process = subprocess.Popen(argv, cwd=self.path, stdin=subprocess.DEVNULL, text=True,
                                   start_new_session=True, preexec_fn=die_with_parent, **more)
        self.started.append(process)
        return process

    def start_redis(self):
        """Answers the URL."""
        socket = self.path / "redis.sock"
        self.start("redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "",
                   stdout=subprocess.DEVNULL)
        ask = ["redis-cli", "-s", str(socket), "PING"]
        eventually(lambda: b"PONG" in subprocess.run(ask, capture_output=True, check=False).stdout,
                   "redis-server")
        return f"unix://{socket}"
