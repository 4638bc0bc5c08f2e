#!/usr/bin/env python3
"""README.md word by word: shell blocks are run, C++ ones are files that the build compiles, the
CMake one is configured, links lead somewhere. usage: readme_test.py BUILD COMPILER"""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from support import ROOT, SCALE, Sandbox

BUILD, COMPILER = Path(sys.argv[1]).resolve(), sys.argv[2]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.M | re.S)


def blocks(language):
    return [body for name, body in BLOCKS if name == language]


class Readme(unittest.TestCase):
    def test_every_block_is_of_a_kind_that_is_tested(self):
        self.assertEqual({name for name, _ in BLOCKS}, {"sh", "cpp", "cmake"})

    def test_commands_of_the_house_are_there(self):
        named = set(re.findall(r"^(scripts/\w+)", "".join(blocks("sh")), re.M))
        self.assertEqual(named, {"scripts/demo", "scripts/test"})
        for name in named:
            self.assertTrue(os.access(ROOT / name, os.X_OK), name)

    def test_shell_blocks_run_as_they_stand(self):
        script = "".join(b for b in blocks("sh") if not b.startswith("scripts/"))
        with Sandbox() as box:
            # The folder as a newcomer has it: the program lies where scripts/demo puts it.
            (box.path / "build").mkdir()
            (box.path / "build/release").symlink_to(BUILD)
            script = script.replace("/tmp/", f"{box.path}/")  # a failed run leaves no socket behind
            done = box.start("bash", "-ec", script, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out, err = done.communicate(timeout=60 * SCALE)
        self.assertEqual(done.returncode, 0, f"{out}\n{err}")
        lines = out.splitlines()
        ids = [line for line in lines if re.fullmatch(r"\d+-\d+", line)]
        self.assertEqual(len(ids), 3, out)
        self.assertEqual(sorted(set(lines) & {"one", "two", "three"}), ["one", "three"], out)
        shown = out[out.rindex(ids[2] + "\n") + len(ids[2]):]
        self.assertIn("billing", shown)
        self.assertRegex(shown, rf"{ids[1]}\b.*penstock:parked")
        self.assertNotIn(ids[0], shown)

    def test_cpp_blocks_are_files_that_the_build_compiles(self):
        files = re.findall(r"\[(examples/\w+\.cpp)\]\(\1\):\n\n```cpp\n", TEXT)
        self.assertEqual(len(files), len(blocks("cpp")))
        for file, body in zip(files, blocks("cpp")):
            self.assertEqual(body, (ROOT / file).read_text(), file)
            self.assertTrue(os.access(BUILD / file.removesuffix(".cpp"), os.X_OK), file)

    def test_cmake_block_configures(self):
        with Sandbox() as box:
            (box.path / "penstock").symlink_to(ROOT)
            (box.path / "quickstart.cpp").write_text(blocks("cpp")[0])
            (box.path / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(mine CXX)\n" + blocks("cmake")[0])
            done = subprocess.run(
                ["cmake", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}", "-S", box.path, "-B",
                 box.path / "out"], text=True, capture_output=True, timeout=60 * SCALE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            ninja = (box.path / "out/build.ninja").read_text()
            self.assertIn("libpenstock.a", ninja)
            self.assertNotIn("gtest", ninja)  # a user's build has neither our tests nor our program

    def test_links_lead_somewhere(self):
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")

    def test_it_never_promises_too_much(self):
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            for line in page.read_text().splitlines():
                if re.search(r"exactly[ -]once", line, re.I):
                    self.assertRegex(line, r"[Nn]ever say", f"{page.name}: {line}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
