#!/usr/bin/env python3
"""tidy must find each fault that it is there for, where it is, and nothing in clean sources."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cpp_text
import tidy

BODY = "  x();\n"
CLEAN = {
    "src/engine/lane.hpp": '#pragma once\n#include <vector>\n#include "base/time.hpp"\n'
                           '#include "store/types.hpp"\n',
    "src/redis/link.cpp": '#include <boost/asio/write.hpp>\n#include "resp/parser.hpp"\n',
    "src/store/redis/codec.cpp": '#include "redis/connection.hpp"\n#include "store/store.hpp"\n',
    "src/runtime/loop.cpp": '#include <thread>\n#include "engine/lane.hpp"\n'
                            "auto t = std::chrono::steady_clock::now();\n",
    "src/base/error.cpp": "#include <penstock/error.hpp>\n// the lease::now( that never was\n"
                          'const char* s = "steady_clock::now()";\n',
    "src/cli/main.cpp": '#include <CLI/CLI.hpp>\n#include <penstock/worker.hpp>\n',
    "include/penstock/worker.hpp": "#pragma once\n#include <string>\n#include <penstock/x.hpp>\n",
    "include/penstock/asio.hpp": "#pragma once\n#include <boost/asio/awaitable.hpp>\n",
    "src/store/redis/scripts/x.lua": "return 1\n",
    "tests/CMakeLists.txt": "set(FOLDERS\n  unit/base server/cli)\n",
    "tests/unit/base/CMakeLists.txt": "add_test(a a)\n",
    "scripts/go": "#!/bin/sh\nexit 0\n",
    "src/base/long.cpp": "void f() {\n" + BODY * 68 + "}\nvoid g() {\n" + BODY * 68 + "}\n"
                         "const std::map<int, int> table = {\n" + "  {1, int(2)},\n" * 90 + "};\n",
    "docs/x.md": "A line of any length " + "x" * 120 + " with a user-agent in it.\n",
}

# (file, content, rule, line)
FAULTS = [
    ("src/engine/a.cpp", '#include "store/store.hpp"\n', "arrows", 1),
    ("src/engine/a.cpp", '\n#include "redis/config.hpp"\n', "arrows", 2),
    ("src/engine/a.cpp", '#include "runtime/x.hpp"\n', "arrows", 1),
    ("src/engine/a.cpp", "#include <mutex>\n", "arrows", 1),
    ("src/engine/a.cpp", "#include <thread>\n", "arrows", 1),
    ("src/engine/a.cpp", "#include <sys/socket.h>\n", "arrows", 1),
    ("src/engine/a.cpp", "#include <boost/asio/post.hpp>\n", "arrows", 1),
    ("src/engine/a.cpp", "#include <penstock/worker.hpp>\n", "arrows", 1),
    ("src/engine/a.cpp", "int a;\nauto t = std::chrono::steady_clock::now();\n", "arrows", 2),
    ("src/base/time.hpp", "#pragma once\nauto t = system_clock::now();\n", "arrows", 2),
    ("src/store/memory/a.cpp", "clock_gettime(CLOCK_MONOTONIC, &t);\n", "arrows", 1),
    ("src/base/a.cpp", '#include "resp/reply.hpp"\n', "arrows", 1),
    ("src/resp/a.cpp", '#include "redis/link.hpp"\n', "arrows", 1),
    ("src/redis/a.cpp", '#include "store/types.hpp"\n', "arrows", 1),
    ("src/store/a.cpp", '#include "store/redis/codec.hpp"\n', "arrows", 1),
    ("src/store/memory/a.cpp", '#include "store/redis/codec.hpp"\n', "arrows", 1),
    ("src/runtime/a.cpp", '#include "store/redis/redis_store.hpp"\n', "arrows", 1),
    ("src/cli/a.cpp", '#include "engine/lane.hpp"\n', "arrows", 1),
    ("src/cli/a.cpp", '#include "api/worker.hpp"\n', "arrows", 1),
    ("src/store/redis/a.cpp", "#include <hiredis/hiredis.h>\n", "arrows", 1),
    ("src/store/redis/a.cpp", "#include <sqlite3.h>\n", "arrows", 1),
    ("src/runtime/a.cpp", "#include <boost/json.hpp>\n", "arrows", 1),
    ("src/api/a.cpp", "#include <gtest/gtest.h>\n", "arrows", 1),
    ("src/api/a.cpp", '#include "nowhere.hpp"\n', "arrows", 1),
    ("src/newpart/a.cpp", "int a;\n", "arrows", 1),
    ("include/penstock/a.hpp", "#pragma once\n#include <boost/json.hpp>\n", "arrows", 2),
    ("include/penstock/a.hpp", "#pragma once\n#include <sqlite3.h>\n", "arrows", 2),
    ("include/penstock/a.hpp", "#pragma once\n#include <boost/asio/awaitable.hpp>\n", "arrows", 2),
    ("include/penstock/a.hpp", '#pragma once\n#include "base/time.hpp"\n', "arrows", 2),
    ("src/base/a.hpp", "#pragma once\n" + "int a;\n" * 300, "size", 301),
    ("src/base/a.cpp", "int a;\n" * 401, "size", 401),
    ("src/store/redis/scripts/a.lua", "x = 1\n" * 121, "size", 121),
    ("tests/tools/a.py", "x = 1\n" * 401, "size", 401),
    ("src/base/a.cpp", "int a;\nvoid f() {\n" + BODY * 69 + "}\n", "function", 2),
    ("src/base/a.cpp", "namespace n {\nA::A()\n    : a_{1},\n      b_{2} {\n" + BODY * 70 +
     "}\n}\n", "function", 2),
    ("src/base/a.cpp", "class A : B {\n  int f(int x = g()) const override {\n" + BODY * 69 +
     "  }\n};\n", "function", 2),
    ("tests/a.cpp", 'TEST(A, b) {\n  f("}");\n' + BODY * 69 + "}\n", "function", 1),
    ("tests/tools/a.py", "def f():\n" + "    x = 1\n" * 70, "function", 1),
    ("src/base/a.cpp", "int " + "a" * 100 + ";\n", "columns", 1),
    ("src/store/redis/scripts/a.lua", "-- " + "a" * 100 + "\n", "columns", 1),
    ("scripts/long", "#!/bin/sh\n# " + "a" * 100 + "\n", "columns", 2),
    ("src/base/a.hpp", "int a;\n", "once", 1),
    ("src/runtime/a.cpp", "task f() {\n  co_await g([p] { return p; });\n}\n", "co_await", 2),
    ("src/runtime/a.cpp", "task f() {\n  co_await g(opts{.a = 1});\n}\n", "co_await", 2),
    ("src/runtime/a.cpp", "task f() {\n  agg a{P{1}, co_await x};\n}\n", "co_await", 2),
    ("src/base/a.cpp", "\tint a;\n", "text", 1),
    ("src/base/a.cpp", "int a; \n", "text", 1),
    ("src/base/a.cpp", "int a;\r\n", "text", 1),
    ("src/base/a.cpp", "int a;", "text", 1),
    ("docs/a.md", "\nwritten by an AI\n", "words", 2),
    ("docs/a.md", "Claude\n", "words", 1),
    ("src/base/a.cpp", "// the agent said so\n", "words", 1),
    ("docs/a.md", "see /work/shared/X.md\n", "words", 1),
    ("scripts/a", "exit 0\n", "script", 1),
    ("tools/a.py", "#!/usr/bin/env python3\n", "script", 1),
    ("tests/tools/a.py", "def f(:\n", "python", 1),
    ("tests/server/CMakeLists.txt", "add_test(a a)\n", "tests", 1),
]


def write(root, name, content):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())
    if name.startswith("scripts/"):
        path.chmod(0o755)


class Tidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-tidy-")
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for name, content in CLEAN.items():
            write(self.root, name, content)

    def test_clean_tree_has_no_fault(self):
        self.assertEqual(list(tidy.faults_of(self.root)), [])

    def test_each_planted_fault_is_found_alone(self):
        for name, content, rule, line in FAULTS:
            with self.subTest(name=name, content=content[:60], rule=rule):
                write(self.root, name, content)
                found = [(f, n, r) for f, n, r, _ in tidy.faults_of(self.root)]
                self.assertEqual(found, [(name, line, rule)])
                (self.root / name).unlink()

    def test_script_that_lost_its_bit(self):
        (self.root / "scripts/go").chmod(0o644)
        self.assertEqual([f[2] for f in tidy.faults_of(self.root)], ["script"])

    def test_build_folders_are_left_out(self):
        write(self.root, "build/dev/a.cpp", "\tint a;")
        self.assertEqual(list(tidy.faults_of(self.root)), [])

    def test_program_says_so_by_its_exit_code(self):
        program = [sys.executable, str(Path(tidy.__file__)), str(self.root)]
        self.assertEqual(subprocess.run(program, capture_output=True, check=False).returncode, 0)
        write(self.root, "src/base/a.cpp", "\tint a;\n")
        done = subprocess.run(program, capture_output=True, check=False, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/base/a.cpp:1: [text] a tab\n", done.stdout)

    @unittest.skipUnless(shutil.which("clang-format-19"), "clang-format-19 is not installed")
    def test_format_finds_an_unformatted_file(self):
        write(self.root, ".clang-format", "BasedOnStyle: Google\n")
        for name in [*CLEAN]:
            (self.root / name).unlink()
        write(self.root, "src/base/a.cpp", "int a;\n")
        self.assertEqual(tidy.check_format(self.root), 0)
        write(self.root, "src/base/a.cpp", "int  a ;\n")
        self.assertEqual(tidy.check_format(self.root), 1)


class Functions(unittest.TestCase):
    def lengths(self, text):
        return [length for _, length in cpp_text.functions(cpp_text.blank(text))]

    def test_shapes(self):
        for text, expected in [
            ("int f() {\n}\n", [2]),
            ("struct A {\n  int f() { return 1; }\n  int b{1};\n};\n", [1]),
            ("auto f() -> std::vector<int> {\n\n}\n", [3]),
            ("bool operator==(A, B) {\n}\n", [2]),
            ("void f() {\n  auto g = [] {\n  };\n}\n", [4]),
            ("A::A(int x)\n    : a_(x), b_{x, {1}}, c_{} {\n}\n", [3]),
            ("#define X \\\n  void f() {\nint g() {\n}\n", [2]),
            ("namespace a::b {\nextern \"C\" {\nvoid f() {}\n}\n}\n", [1]),
            ("enum class E { a, b };\nconst int t[] = {f(1), 2};\nint g() {\n}\n", [2]),
            ('void f() {\n  x = "{{{"; y = \'{\'; /* { */ z = R"({)"; n = 1\'000;\n}\n', [3]),
            ("template <class T>\n  requires std::is_same_v<T, int>\nvoid f(T) {\n}\n", [4]),
        ]:
            with self.subTest(text=text):
                self.assertEqual(self.lengths(text), expected)

    def test_co_await_that_is_harmless(self):
        for text in ["co_await f(x);\n", "if (co_await f(x)) {\n  y();\n}\n",
                     "auto a = opts{1};\nco_await f(a);\n", "co_await f([] { return 1; });\n"]:
            with self.subTest(text=text):
                self.assertEqual(list(cpp_text.co_await_faults(text)), [])


if __name__ == "__main__":
    unittest.main()
