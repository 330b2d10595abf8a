#!/usr/bin/env python3
"""bench/transfer: donors are packed and tried on one another, and an interrupted trial goes on."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "bench" / "transfer"
sys.path.insert(0, str(FOLDER))
sys.dont_write_bytecode = True

import distil  # noqa: E402
import page  # noqa: E402

TOOL = pathlib.Path(os.path.abspath(os.environ.get("ESPALIER", "build/release/bin/espalier")))
PROGRAMS = TOOL.parent / "bench" / "transfer"
WORKLOADS = ("matmul:m=32,n=32,k=32", "matmul:m=24,n=40,k=16", "softmax:rows=8,cols=32")


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, timeout=300).stdout


def record(candidate, time_us, provenance="drafted", final=False):
    line = {"workload": "w", "target": "t", "threads": 1, "status": "ok", "verified": True, "candidate": candidate,
            "time_us": time_us, "provenance": provenance}
    return json.dumps({**line, "final": True} if final else line)


class Distil(unittest.TestCase):
    def test_the_winner_the_next_best_and_the_default_stay(self):
        lines = [record("a", 9.0, "default"), record("b", 5.0), record("c", 6.0), record("d", 7.0), record("b", 5.5, final=True)]
        self.assertEqual([json.loads(line)["candidate"] for line in distil.distil(lines)], ["b", "c", "d", "a"])

    def test_a_search_without_an_end_is_left_out(self):
        self.assertEqual(distil.distil([record("a", 9.0, "default"), record("b", 5.0)]), [])


class Coverage(unittest.TestCase):
    def test_donors_of_the_own_network_do_not_count(self):
        networks = {"n": ["conv:a", "conv:b"], "m": ["conv:c"]}
        pairs = {"workloads": ["conv:a", "conv:b", "conv:c"], "levels": ["-14", "1-.", "4.-"]}
        text, shares = page.coverage(networks, pairs)
        self.assertIn("| n | 2 | 0 (0.0%) | 1 (50.0%) |", text)
        self.assertIn("Without any: `conv:b`", text)
        self.assertEqual(shares, ["0.0%", "66.7%"])


class Programs(unittest.TestCase):
    def test_seeds_are_tried_once(self):
        with tempfile.TemporaryDirectory() as folder:
            records, out = pathlib.Path(folder) / "records", pathlib.Path(folder) / "tries"
            for workload in WORKLOADS:
                run(TOOL, "tune", "--workload", workload, "--threads", 1, "--trials", 3, "--records", records, "--quiet")
            pairs = json.loads(run(PROGRAMS / "match_pairs", records))
            self.assertEqual(pairs["workloads"], sorted(WORKLOADS))
            self.assertEqual(pairs["levels"], ["-1.", "1-.", "..-"])
            for _ in range(2):
                run(PROGRAMS / "try_seeds", "--sample", 0, "--out", out, records)
                lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
                self.assertEqual([line["workload"] for line in lines], sorted(WORKLOADS)[:2])
            self.assertTrue(all(s["good"] == s["seeds"] > 0 for line in lines for s in line["seeds"]))
            race = json.loads(run(PROGRAMS / "race_seeds", "--workload", WORKLOADS[0], "--rounds", 2, "--ladder", 2, records))
            self.assertGreater(race["tuned"], 0)
            self.assertEqual(race["seeds"][0]["donor"], WORKLOADS[1])
            self.assertEqual(race["ladder"]["donors"], 1)


if __name__ == "__main__":
    unittest.main()
