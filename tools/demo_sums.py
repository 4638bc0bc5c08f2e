"""What the demo counts: from the records that handlers left, and from what the server still holds.
Nothing here asks penstock how it went."""
from collections import defaultdict
from dataclasses import dataclass, field

NEVER = float("inf")


@dataclass
class Run:
    """One run of one message; `end` is None where it was cut short. Times are monotonic seconds."""
    message: int
    worker: str
    start: float
    end: float | None = None


class Records:
    """Reads the file that workers append to: `S|E message worker delivery nanoseconds`."""

    def __init__(self, path):
        self.path, self.offset, self.rest = path, 0, b""
        self.runs, self.opened = defaultdict(list), {}
        self.done = set()

    def read(self):
        """Takes in what has come since."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            data = file.read()
        self.offset += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.take(line.decode())
        return self

    def take(self, line):
        kind, number, worker, delivery, at_ns = line.split(" ")
        message, at = int(number), int(at_ns) / 1e9
        key = (message, worker, delivery)
        if kind == "S":
            self.opened[key] = Run(message, worker, at)
            self.runs[message].append(self.opened[key])
        elif kind == "E" and key in self.opened:
            self.opened.pop(key).end = at
            self.done.add(message)
        else:
            raise ValueError(f"a record that makes no sense: {line}")


@dataclass
class Facts:
    """All that the table is made of."""
    sent: int
    runs: dict                  # message -> its runs
    killed: str                 # the worker that was killed,
    killed_at: float            # when,
    orphans: list               # and the messages that the server showed as its own after that
    closed: str
    closed_at: float
    held: list                  # messages of the closed worker just before it was told to close
    pending: int                # at the end, on the server: unsettled entries,
    stored: int                 # entries in the stream,
    parked: int                 # due rows,
    dead: int                   # dead letters
    codes: dict = field(default_factory=dict)  # worker -> exit code, without the killed one's
    promise_killed: float = 0.0
    promise_handed: float = 1.0


def is_overlapped(runs, facts):
    """Two runs of one message at one time. A run that was cut short ended with its worker."""
    latest = None
    for run in sorted(runs, key=lambda r: r.start):
        if latest is not None and run.start < latest:
            return True
        end = run.end
        if end is None:
            end = max(run.start, facts.killed_at) if run.worker == facts.killed else NEVER
        latest = end if latest is None else max(latest, end)
    return False


def waited(runs, worker, at):
    """Seconds from `at` until the message's first start by another worker."""
    return min((r.start - at for r in runs if r.worker != worker and r.start >= at), default=NEVER)


def sums(facts):
    """The numbers of the table."""
    numbers = range(1, facts.sent + 1)
    runs = {n: facts.runs.get(n, []) for n in numbers}
    done = sum(any(r.end is not None for r in of_one) for of_one in runs.values())
    again = {n: of_one for n, of_one in runs.items() if len(of_one) > 1}
    cut = {n for n, of_one in again.items()
           if any(r.worker == facts.killed and r.end is None for r in of_one)}
    # Its run had ended, but the kill came before its ack reached the server.
    unacked = {n for n, of_one in again.items() if n not in cut and n in set(facts.orphans)
               and any(r.worker == facts.killed for r in of_one)}
    elsewhere = [waited(runs[n], facts.killed, facts.killed_at) for n in facts.orphans
                 # Acked by a command that was already on its way when the worker was killed.
                 if not (len(runs[n]) == 1 and runs[n][0].end is not None)]
    unstarted = [n for n in facts.held if all(r.worker != facts.closed for r in runs[n])]
    return {
        "sent": facts.sent,
        "done": done,
        "lost": facts.sent - done,
        "overlapped": sum(is_overlapped(of_one, facts) for of_one in runs.values()),
        "unsent": sum(n not in runs for n in facts.runs),
        "pending": facts.pending, "stored": facts.stored, "parked": facts.parked,
        "dead": facts.dead,
        "run_again_cut_short": len(cut),
        "run_again_not_acked": len(unacked),
        "run_again_unexplained": len(again) - len(cut) - len(unacked),
        "killed_held": len(facts.orphans),
        "killed_seconds": max(elsewhere, default=0.0), "killed_promise": facts.promise_killed,
        "handed_back": len(unstarted),
        "handed_seconds": max((waited(runs[n], facts.closed, facts.closed_at) for n in unstarted),
                              default=0.0),
        "handed_promise": facts.promise_handed,
        "exit_codes": facts.codes,
    }


def faults(s):
    """What does not add up; empty where all does."""
    found = [
        (s["done"] != s["sent"], "done is not sent"),
        (s["lost"] != 0, "messages were lost"),
        (s["overlapped"] != 0, "messages ran twice at one time"),
        (s["unsent"] != 0, "messages ran that nobody sent"),
        (s["pending"] + s["stored"] + s["parked"] != 0, "the server still holds messages"),
        (s["dead"] != 0, "there are dead letters"),
        (s["run_again_unexplained"] != 0, "messages ran again without a reason"),
        (any(s["exit_codes"].values()), f"workers ended with {s['exit_codes']}"),
        (s["killed_held"] == 0, "the killed worker held nothing, so nothing was shown"),
        (s["handed_back"] == 0, "the closed worker held nothing unstarted, so nothing was shown"),
        (s["killed_seconds"] > s["killed_promise"], "the killed worker's messages ran too late"),
        (s["handed_seconds"] > s["handed_promise"], "handed-back messages ran too late"),
    ]
    return [text for fault, text in found if fault]


def seconds(value):
    return "never" if value == NEVER else f"{value:.2f} s"


def table(s):
    rows = [
        ("sent", s["sent"], ""),
        ("done", s["done"], "must equal sent"),
        ("lost", s["lost"], "must be 0"),
        ("overlapped", s["overlapped"], "must be 0: one message in two handlers at one time"),
        ("left on the server", s["pending"] + s["stored"] + s["parked"],
         "must be 0: pending, stored or parked"),
        ("dead letters", s["dead"], "must be 0"),
        ("run again", s["run_again_cut_short"] + s["run_again_not_acked"],
         f"the kill cut {s['run_again_cut_short']} short, "
         f"and {s['run_again_not_acked']} had ended but were not acked"),
        ("run again, other", s["run_again_unexplained"], "must be 0"),
        (f"killed, {s['killed_held']} held", seconds(s["killed_seconds"]),
         f"until all ran elsewhere; at most {s['killed_promise']:g} s"),
        (f"closed, {s['handed_back']} unstarted", seconds(s["handed_seconds"]),
         f"until all ran elsewhere; at most {s['handed_promise']:g} s"),
    ]
    return "\n".join(f"  {name:<24}{value:>9}   {note}".rstrip() for name, value, note in rows)
