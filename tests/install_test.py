#!/usr/bin/env python3
"""The installed package is enough: the examples build outside of the tree, with exceptions and RTTI, and run."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from cli_support import ESPALIER, is_sanitized

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(ESPALIER).resolve().parent.parent


class Install(unittest.TestCase):
    def setUp(self):
        if not (BUILD / "cmake_install.cmake").exists():
            self.skipTest("not in a build folder")
        if is_sanitized():
            self.skipTest("a consumer would have to be instrumented alike")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-install-"))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run_command(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{words}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_examples_build_against_the_installed_package(self):
        prefix, build = self.folder / "prefix", self.folder / "build"
        self.run_command("cmake", "--install", BUILD, "--prefix", prefix)
        # The headers of the source tree must not be found by accident.
        sources = self.folder / "examples"
        shutil.copytree(ROOT / "examples", sources)
        self.run_command("cmake", "-S", sources, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
                         "-DCMAKE_CXX_COMPILER=" + os.environ.get("CXX", "clang++-19"))
        self.run_command("cmake", "--build", build)
        self.assertIn("largest difference", self.run_command(build / "schedule_by_hand"))
        self.assertIn("adds up to 1.0", self.run_command(build / "tune_and_run"))
        tool = prefix / "bin" / "espalier"
        self.assertIn("LLVM", self.run_command(tool, "--version"))
        # Suites, hand-written traces and contestants are found beside it.
        self.assertIn("ansor, core, odd, ops", self.run_command(tool, "bench", "--help").replace("\n", " "))
        if (prefix / "libexec" / "espalier" / "bench-espalier").exists():
            table = self.run_command(tool, "bench", "--workload", "softmax:rows=1536,cols=128", "--rounds", "1", "--threads",
                                     "1", "--batch-ms", "0.1", "--peers", "none")
            self.assertIn("trace us", table)


if __name__ == "__main__":
    unittest.main()
