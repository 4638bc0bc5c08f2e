"""Which part may include what: the arrows of docs/design.md, section 6."""
import re

# Part -> the parts whose headers it may include (itself always). "store" is the interface alone.
PARTS = {
    "base": set(),
    "resp": {"base"},
    "redis": {"base", "resp"},
    "store": {"base"},
    "store/memory": {"base", "store"},
    "store/sqlite": {"base", "store"},
    "store/redis": {"base", "store", "redis", "resp"},
    "format": {"base", "store"},
    "engine": {"base"},
    "runtime": {"base", "engine", "store", "format"},
    "api": {"base", "engine", "runtime", "store", "store/memory", "store/sqlite", "store/redis",
            "format"},
    "cli": {"base", "web"},
    "web": {"base"},
}

# Single headers beyond the table: the words that engine and store share; for the api, which puts
# the whole together, a server's address and the event loop that connections run on.
EXTRA = {
    "engine": {"store/types.hpp"},
    "api": {"redis/config.hpp", "redis/asio_executor.hpp"},
}

# The library's face is for those above it; below, only the error type is known.
FACE_READERS = {"runtime", "format", "api", "cli", "web"}
FACE_FOR_ALL = {"penstock/error.hpp"}

# A third party's headers -> the parts that may have them. What is not named here is free in src/.
THIRD_PARTY = [
    (re.compile(r"boost/(asio|beast)/"), {"redis", "store/redis", "runtime", "api", "cli", "web"}),
    (re.compile(r"boost/beast/"), {"web"}),
    (re.compile(r"boost/json"), {"format", "api", "cli", "web"}),
    (re.compile(r"boost/url"), {"redis", "api", "cli", "web"}),
    (re.compile(r"openssl/"), {"redis", "web"}),
    (re.compile(r"sqlite3\.h"), {"store/sqlite"}),
    (re.compile(r"hiredis/"), set()),
    (re.compile(r"(CLI|spdlog|toml\+\+)/"), {"cli"}),
    (re.compile(r"(gtest|gmock|rapidcheck|benchmark)[/.]"), set()),
]

# Sans-I/O parts: no thread, no socket, no clock of their own.
NO_THREADS = {"engine", "resp", "format"}
THREAD_HEADERS = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore",
                  "latch", "barrier"}
NO_CLOCK = {"engine", "resp", "format", "base", "store", "store/memory"}
NO_SYSTEM = {"engine", "resp", "format", "store", "store/memory"}
CLOCK = re.compile(r"(?:::now\s*\(|\b(?:clock_gettime|gettimeofday|timespec_get)\s*\(|"
                   r"\bstd::time\s*\()")
SYSTEM_HEADER = re.compile(r"(sys|netinet|arpa)/|(unistd|poll|netdb|pthread|signal|fcntl)\.h$")

PUBLIC_ASIO = {"boost/asio/awaitable.hpp", "boost/asio/any_io_executor.hpp"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def part_of(path):
    """`store/redis/x.hpp` -> "store/redis"; None for a path of no part."""
    folders = path.split("/")[:-1]
    for size in (2, 1):
        name = "/".join(folders[:size])
        if len(folders) >= size and name in PARTS:
            return name
    return None


def check_src(path, raw_lines, code_lines):
    """`path` is below src/. Yields (line number, message)."""
    part = part_of(path)
    if part is None:
        yield 1, f"src/{path} is in no part that tests/tools/arrows.py knows"
        return
    for number, line in enumerate(raw_lines, 1):
        found = INCLUDE.match(line)
        if found:
            quoted, header = found.group(1) == '"', found.group(2)
            message = quoted_fault(part, header) if quoted else angle_fault(part, header)
            if message:
                yield number, message
    if part in NO_CLOCK:
        for number, line in enumerate(code_lines, 1):
            if CLOCK.search(line):
                yield number, f"{part} reads a clock; time comes in from outside"


def quoted_fault(part, header):
    target = part_of(header)
    if target is None:
        return f'"{header}" is no header of a part; others are included with <>'
    if target == part or target in PARTS[part] or header in EXTRA.get(part, ()):
        return None
    return f"{part} may not include {header}: no arrow from {part} to {target}"


def angle_fault(part, header):
    if header.startswith("penstock/"):
        if part in FACE_READERS or header in FACE_FOR_ALL:
            return None
        return f"{part} may not include <{header}>: it is above"
    for pattern, parts in THIRD_PARTY:
        if pattern.match(header) and part not in parts:
            return f"{part} may not include <{header}>"
    if part in NO_THREADS and header in THREAD_HEADERS:
        return f"{part} may not include <{header}>: it knows no threads"
    if part in NO_SYSTEM and SYSTEM_HEADER.match(header):
        return f"{part} may not include <{header}>: it makes no system calls"
    return None


def check_public(path, raw_lines):
    """`path` is below include/. Only std, and other public headers."""
    for number, line in enumerate(raw_lines, 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        header = found.group(2)
        if found.group(1) == '"':
            yield number, f'"{header}" in a public header: use <penstock/..>'
        elif header in PUBLIC_ASIO and path == "penstock/asio.hpp":
            continue
        elif not header.startswith("penstock/") and not re.fullmatch(r"[a-z_]+", header):
            yield number, f"<{header}> in a public header: only std there"
