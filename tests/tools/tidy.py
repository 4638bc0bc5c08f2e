#!/usr/bin/env python3
"""Holds the sources to the rules of the house: include arrows, budgets, text, the co_await fault.

usage: tidy.py [ROOT]         prints `file:line: [rule] what`, exits 1 if there is any
       tidy.py --format [ROOT]  clang-format-19 instead; exits 77 where it is not installed
"""
import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import arrows
import cpp_text

CPP = {".cpp", ".hpp"}
TEXT = CPP | {".lua", ".py", ".md", ".txt", ".cmake", ".json", ".sh", ".toml", ".yml"}
LEAVE_OUT = {".git", ".cache", "build", "__pycache__", "node_modules"}
LINES_MAX = {".hpp": 300, ".cpp": 400, ".lua": 120, ".py": 400}
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
COLUMNS_FOR = CPP | {".lua", ".py", ".sh", ""}

# Nothing here speaks of the tools or the machine of whoever wrote it.
ALIEN = re.compile(r"\b(?:claude|anthropic|openai|chatgpt|copilot|llms?)\b|/work/(?:main|shared)\b"
                   r"|(?<![-\w])agents?\b", re.I)
ALIEN_CASED = re.compile(r"\bAI\b")
ALIEN_SPARED = {"LICENSE", "tests/tools/tidy.py", "tests/tools/tidy_test.py"}


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in LEAVE_OUT)
        for name in sorted(names):
            yield Path(folder, name)


def is_script(path):
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def check_text(rel, suffix, text, lines):
    if text and not text.endswith("\n"):
        yield len(lines), "text", "no newline at the end"
    spared = rel in ALIEN_SPARED
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield number, "text", "a tab"
        if line != line.rstrip():
            yield number, "text", "space at the end of the line"
        if suffix in COLUMNS_FOR and len(line) > COLUMNS_MAX:
            yield number, "columns", f"{len(line)} columns, {COLUMNS_MAX} allowed"
        if not spared and (ALIEN.search(line) or ALIEN_CASED.search(line)):
            yield number, "words", "speaks of a tool or a machine, not of the project"
    limit = LINES_MAX.get(suffix)
    if limit and len(lines) > limit:
        yield limit + 1, "size", f"{len(lines)} lines, {limit} allowed"


def check_cpp(rel, suffix, text, lines):
    code = cpp_text.blank(text)
    if suffix == ".hpp" and not re.search(r"^#pragma once$", text, re.M):
        yield 1, "once", "no #pragma once"
    for first, length in cpp_text.functions(code):
        if length > FUNCTION_LINES_MAX:
            yield first, "function", f"{length} lines, {FUNCTION_LINES_MAX} allowed"
    for number in cpp_text.co_await_faults(code):
        yield number, "co_await", "capturing lambda or braces in a statement with co_await"
    if rel.startswith("src/"):
        faults = arrows.check_src(rel[len("src/"):], lines, code.splitlines())
    elif rel.startswith("include/"):
        faults = arrows.check_public(rel[len("include/"):], lines)
    else:
        faults = ()
    for number, message in faults:
        yield number, "arrows", message


def check_python(text):
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield error.lineno or 1, "python", str(error.msg)
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield node.lineno, "function", f"{length} lines, {FUNCTION_LINES_MAX} allowed"


def check_file(root, path):
    rel = path.relative_to(root).as_posix()
    script = is_script(path)
    if rel.startswith("scripts/") and not script:
        yield 1, "script", "no #! line"
    if script and not os.access(path, os.X_OK):
        yield 1, "script", "not executable"
    if path.suffix not in TEXT and not script and path.suffix != "":
        return
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        yield 1, "text", "not UTF-8"
        return
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    yield from check_text(rel, path.suffix, text, lines)
    if path.suffix in CPP:
        yield from check_cpp(rel, path.suffix, text, lines)
    elif path.suffix == ".py":
        yield from check_python(text)


def check_test_folders(root):
    """A test folder that tests/CMakeLists.txt does not name would never run, in silence."""
    top = root / "tests/CMakeLists.txt"
    listed = set(re.findall(r"[\w/.-]+", top.read_text())) if top.exists() else set()
    for path in sorted(top.parent.rglob("CMakeLists.txt")):
        rel = path.parent.relative_to(top.parent).as_posix()
        if path != top and rel not in listed:
            yield f"tests/{rel}/CMakeLists.txt", 1, "tests", "not named in tests/CMakeLists.txt"


def faults_of(root):
    """All faults below `root` as (file, line, rule, message)."""
    for path in files_of(root):
        if path.is_symlink() or not path.is_file():
            continue
        for number, rule, message in check_file(root, path):
            yield path.relative_to(root).as_posix(), number, rule, message
    yield from check_test_folders(root)


def check_format(root):
    program = shutil.which("clang-format-19")
    if program is None:
        print("clang-format-19 is not installed (scripts/setup installs it)")
        return 77
    files = [str(p) for p in files_of(root) if p.suffix in CPP]
    done = subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *files],
                          cwd=root, check=False)
    print(f"format: {len(files)} files, {'ok' if done.returncode == 0 else 'see above'}")
    return 1 if done.returncode else 0


def main(arguments):
    only_format = "--format" in arguments
    rest = [a for a in arguments if a != "--format"]
    root = Path(rest[0]) if rest else Path(__file__).parents[2]
    if only_format:
        return check_format(root)
    count = 0
    for file, number, rule, message in faults_of(root):
        print(f"{file}:{number}: [{rule}] {message}")
        count += 1
    print(f"tidy: {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
