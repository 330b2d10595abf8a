#!/usr/bin/env python3
"""bench/research: how runs become curves and figures, and a comparison of two policies that is interrupted and goes on."""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "bench" / "research"
sys.path.insert(0, str(FOLDER))
sys.dont_write_bytecode = True

import report  # noqa: E402
import runs as log  # noqa: E402
import statistic  # noqa: E402

TOOL = os.path.abspath(os.environ.get("ESPALIER", "build/release/bin/espalier"))
RETIME = os.path.join(os.path.dirname(TOOL), "bench", "retime")


def run_of(policy, seed, curve, trials=10, workload="w", speeds=None):
    """Each leader is worth what the search thought, unless told otherwise."""
    speeds = speeds or [100.0 / us for _, _, us in curve] + [100.0 / curve[-1][2]]
    return {"workload": workload, "policy": policy, "seed": seed, "limit": 10, "model": None, "trials": trials,
            "stopped": "trials", "seconds": float(trials), "default_us": 100.0, "best_us": curve[-1][2],
            "phases": dict.fromkeys(log.PHASES, 0.1), "failed": 0, "curve": curve, "leaders": [],
            "speeds": speeds, "threads": 1, "cpu": "c", "commit": "x"}


class Figures(unittest.TestCase):
    def test_curves_are_of_the_times_taken_afterwards(self):
        run = run_of("p", 1, [[1, 1.0, 90.0], [4, 4.0, 60.0], [8, 8.0, 45.0]], speeds=[1.0, 1.5, 1.4, 1.6])
        self.assertEqual([speed for _, _, speed in log.speeds(run)], [1.0, 1.5, 1.4])
        self.assertEqual(log.speed_after(run, 5), 1.5)
        self.assertEqual(log.speed_after(run, 9), 1.4)
        self.assertEqual(log.speed_after(run, 10), 1.6)

    def test_leaders_are_found_by_trial(self):
        records = [{"trial": t, "trace": [str(t)]} for t in range(5)] + [{"trial": 3, "trace": ["final"], "final": True}]
        result = {"curve": [[1, 0.1, 9.0], [4, 0.2, 8.0]], "record": {"trace": ["3"]}}
        self.assertEqual(log.leaders_of(result, records), [["0"], ["3"], ["3"]])

    def test_a_run_matches_at_the_first_trial_that_is_good_enough(self):
        run = run_of("p", 1, [[1, 1.0, 100.0], [4, 4.5, 50.2], [8, 8.0, 50.0]])
        self.assertEqual(log.match(run, 2.0, 0.005), (4, 4.5, True))
        self.assertEqual(log.match(run, 2.5, 0.005), (10, 10.0, False))

    def test_ratios_multiply(self):
        runs = [run_of("base", s, [[1, 1.0, 100.0], [8, 8.0, 50.0]]) for s in (1, 2)]
        runs += [run_of("quick", s, [[1, 0.5, 100.0], [4, 1.0, 50.0]]) for s in (1, 2)]
        text = report.markdown(report.Comparison(runs, ["w"], "base", 10), (4,), "x.svg")
        self.assertIn("| `quick` | 0.400 (0.400 to 0.400) | 0.250 (0.250 to 0.250) | 0.100 (0.100 to 0.100) | 0 of 2 |", text)
        self.assertIn("On 0 of the tasks", text)

    def test_runs_that_never_match_count_with_the_whole_budget(self):
        runs = [run_of("base", 1, [[1, 1.0, 100.0], [8, 8.0, 50.0]]), run_of("weak", 1, [[1, 1.0, 100.0], [2, 2.0, 90.0]], trials=5)]
        text = report.markdown(report.Comparison(runs, ["w"], "base", 10), (4,), "x.svg")
        self.assertIn("| `weak` | 1.000 (1.000 to 1.000) | 1.000 (1.000 to 1.000) | 1.000 (1.000 to 1.000) | 1 of 1 |", text)

    def test_means(self):
        self.assertEqual(statistic.median([3, 1, 2]), 2)
        self.assertEqual(statistic.median([4, 1, 2, 3]), 2.5)
        self.assertAlmostEqual(statistic.geomean([1, 4]), 2)
        center, low, high = statistic.interval([[1.0, 4.0], [2.0, 2.0]])
        self.assertAlmostEqual(center, 2)
        self.assertLess(low, center)
        self.assertGreater(high, center)


class Log(unittest.TestCase):
    def test_a_torn_line_is_dropped_and_the_log_stays_usable(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log.gz")
            run = run_of("p", 1, [[1, 1.0, 100.0]])
            log.append_to_log(path, run)
            log.append_to_log(path, run_of("p", 2, [[1, 1.0, 100.0]]))
            with open(path, "rb") as file:
                whole = file.read()
            with open(path, "wb") as file:
                file.write(whole[:-10])
            self.assertEqual(log.read_log(path)[0], run)
            log.append_to_log(path, run_of("p", 3, [[1, 1.0, 100.0]]))
            self.assertEqual(log.read_log(path)[-1]["seed"], 3)


class Comparison(unittest.TestCase):
    def test_it_runs_reports_and_does_nothing_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            tasks = os.path.join(folder, "tasks")
            with open(tasks, "w", encoding="utf-8") as file:
                file.write("# one\nmatmul:m=16,n=16,k=16\n")
            command = [sys.executable, "-B", str(FOLDER / "research.py"), "--tool", TOOL, "--tasks", tasks, "--seeds", "1",
                       "--trials", "6", "--baseline", "random", "--policies", "auto", "--log", os.path.join(folder, "log.gz"),
                       "--retime", RETIME, "--rounds", "3", "--out", os.path.join(folder, "out.md")]
            for _ in range(2):
                subprocess.run(command, check=True, capture_output=True, timeout=300)
                with gzip.open(os.path.join(folder, "log.gz"), "rt", encoding="utf-8") as file:
                    self.assertEqual(len(file.readlines()), 2)
            with open(os.path.join(folder, "out.md"), encoding="utf-8") as file:
                self.assertIn("| `auto` |", file.read())
            with open(os.path.join(folder, "out.svg"), encoding="utf-8") as file:
                self.assertIn("</svg>", file.read())


if __name__ == "__main__":
    unittest.main()
