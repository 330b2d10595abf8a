#!/usr/bin/env python3
"""espalier tune: its JSON, budgets, resuming after kill -9, a killed worker, Ctrl-C, and proposals."""

import json
import os
import pty
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest

from cli_support import CliTest, ESPALIER, SMALL, is_sanitized

SLOW = 10 if is_sanitized() else 1
WORKLOAD = "matmul:m=48,n=48,k=48,epilogue=bias+relu"

KEYS = {"workload", "target", "threads", "policy", "seed", "trials", "failed", "seconds", "stopped", "seconds_by_phase",
        "naive_us", "default_us", "best_us", "best_gflops", "max_error", "verified", "curve", "provenance", "record"}
PHASES = {"sample", "draft", "features", "score", "fit", "compile", "measure", "verify", "other"}
PROVENANCE = {"default", "sampled", "enumerated", "mutated", "crossed", "descended", "drafted", "transferred"}


def lines_of(path):
    """The measurements of the search in a file; a torn line may stand anywhere a writer was killed."""
    records = []
    if not os.path.exists(path):
        return records
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                records.append(json.loads(line))
            except ValueError:
                pass
    return [r for r in records if not r.get("final")]


class Tune(CliTest):
    def tune_args(self, *args, trials=12, workload=WORKLOAD, threads=1):
        return ["tune", "--workload", workload, "--threads", str(threads), "--trials", str(trials), "--json", *args]

    def test_json_follows_the_contract(self):
        result = json.loads(self.good(*self.tune_args("--seed", "3", "--records", self.path("r"))))
        self.assertLessEqual(KEYS, result.keys())
        self.assertEqual(result["workload"], WORKLOAD)
        self.assertEqual((result["threads"], result["seed"], result["trials"]), (1, 3, 12))
        self.assertEqual(set(result["failed"]), {"compile", "run", "timeout", "wrong"})
        self.assertEqual(result["failed"]["wrong"], 0)
        self.assertEqual(result["stopped"], "trials")
        self.assertEqual(set(result["seconds_by_phase"]), PHASES)
        self.assertTrue(result["verified"])
        self.assertIn(result["provenance"], PROVENANCE)
        for key in ("naive_us", "default_us", "best_us", "best_gflops", "seconds"):
            self.assertGreater(result[key], 0, key)
        self.assertLessEqual(result["best_us"], result["default_us"])
        self.assertAlmostEqual(sum(result["seconds_by_phase"].values()), result["seconds"], delta=0.5 * SLOW)
        bests = [best for _, _, best in result["curve"]]
        self.assertEqual(bests, sorted(bests, reverse=True))
        self.assertEqual(result["record"]["workload"], WORKLOAD)

    def test_every_candidate_is_recorded_once(self):
        self.good(*self.tune_args("--records", self.path("r")))
        records = lines_of(self.path("r"))
        self.assertEqual([r["trial"] for r in records], list(range(12)))
        self.assertEqual(records[0]["provenance"], "default")
        self.assertEqual(len({r["candidate"] for r in records}), 12)

    def test_no_trials_give_the_default_schedule(self):
        result = json.loads(self.good(*self.tune_args("--records", self.path("r"), trials=0)))
        self.assertEqual(result["provenance"], "default")
        self.assertTrue(result["verified"])
        self.assertEqual([r["provenance"] for r in lines_of(self.path("r"))], ["default"])

    def test_seconds_end_a_run(self):
        begin = time.monotonic()
        result = json.loads(self.good(*self.tune_args("--seconds", "2", trials=1000000)))
        self.assertLess(time.monotonic() - begin, 30 * SLOW)
        self.assertEqual(result["stopped"], "seconds")
        self.assertTrue(result["verified"])

    def test_a_small_space_is_exhausted(self):
        result = json.loads(self.good(*self.tune_args(trials=100000, workload="elementwise:op=relu,shape=2")))
        self.assertIn(result["stopped"], ("exhausted", "converged"))

    def test_each_policy_runs(self):
        for policy in ("random", "descent", "auto", "ansor", "evolutionary", "draft_verify", "draft_verify:crossover=0"):
            with self.subTest(policy=policy):
                result = json.loads(self.good(*self.tune_args("--policy", policy, trials=6)))
                self.assertEqual(result["policy"], policy)
                self.assertTrue(result["verified"])

    def test_what_a_model_has_learnt_can_be_kept(self):
        model = self.path("model")
        self.good(*self.tune_args("--save-model", model, trials=24))
        with open(model, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["model"], "learned")
        self.good(*self.tune_args("--model", model, trials=6))
        propose = ["tune", "--workload", WORKLOAD, "--threads", "1", "--propose", "30"]
        self.assertNotEqual(self.good(*propose), self.good(*propose, "--model", model))
        with open(model, "w", encoding="utf-8") as file:
            file.write("{}")
        self.assert_fails(self.run_tool(*self.tune_args("--model", model)), (1,), model)

    def test_searches_start_from_the_model_beside_the_program_unless_told_otherwise(self):
        propose = ["tune", "--workload", WORKLOAD, "--threads", "1", "--propose", "30"]
        base = os.path.join(os.path.dirname(os.path.dirname(ESPALIER)), "share/espalier/models/base.json")
        by_default = self.good(*propose)
        self.assertEqual(by_default, self.good(*propose, "--model", base))
        self.assertNotEqual(by_default, self.good(*propose, "--model", "none"))

    def test_without_the_model_beside_the_program_a_search_says_so_and_goes_on(self):
        os.mkdir(self.path("bin"))
        alone = shutil.copy(ESPALIER, self.path("bin"))
        propose = ["tune", "--workload", WORKLOAD, "--threads", "1", "--propose", "30"]
        done = subprocess.run([alone, *propose], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("without the model that comes with the program", done.stderr)
        self.assertEqual(done.stdout, self.good(*propose, "--model", "none"))

    def test_two_threads_run(self):
        result = json.loads(self.good(*self.tune_args(trials=6, threads=2)))
        self.assertEqual(result["threads"], 2)
        self.assertTrue(result["verified"])

    def test_text_output_has_the_result_and_progress_is_apart(self):
        done = self.run_tool("tune", "--workload", SMALL, "--threads", "1", "--trials", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("GFLOP/s", done.stdout)
        self.assertTrue(done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        quiet = self.run_tool("tune", "--workload", SMALL, "--threads", "1", "--trials", "4", "--quiet")
        self.assertEqual(quiet.stderr, "")

    def test_progress_on_a_terminal_is_one_live_line(self):
        try:
            controller, terminal = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal to be had: {error}")
        done = self.start("tune", "--workload", SMALL, "--threads", "1", "--trials", "10", stderr=terminal)
        os.close(terminal)
        seen = b""
        try:
            while chunk := os.read(controller, 4096):
                seen += chunk
        except OSError:
            pass  # the other side has closed
        done.communicate(timeout=60 * SLOW)
        os.close(controller)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"\r[10/10] best ", seen)
        self.assertEqual(seen.count(b"\n"), 1)

    def test_unknown_policies_and_settings_are_named(self):
        for policy, said in (("anneal", "draft_verify"), ("draft_verify:audits=1", "audit"), ("auto:round=0", "round"),
                             ("random:x=1", "no settings"), ("ansor:population", "number")):
            with self.subTest(policy=policy):
                self.assert_fails(self.run_tool("tune", "--workload", SMALL, "--policy", policy, timeout=10), (2,), said)


class Network(CliTest):
    KERNELS = [{"workload": "matmul:m=24,n=24,k=24", "count": 3}, {"workload": "softmax:rows=8,cols=40"},
               {"workload": "matmul:n=24,m=24,k=24", "count": 2}]

    def network(self, kernels):
        path = self.path("net.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"network": "small", "kernels": kernels}, file)
        return path

    def test_each_distinct_kernel_is_tuned_and_totals_are_weighted(self):
        args = ("--network", self.network(self.KERNELS), "--threads", "1", "--trials", "40", "--json")
        result = json.loads(self.good("tune", *args, "--records", self.path("r")))
        self.assertEqual(result["network"], "small")
        tasks = result["tasks"]
        self.assertEqual([(t["workload"], t["count"]) for t in tasks],
                         [("matmul:m=24,n=24,k=24", 5), ("softmax:rows=8,cols=40", 1)])
        for task in tasks:
            self.assertLessEqual(KEYS, task.keys())
            self.assertTrue(task["verified"])
        self.assertEqual(result["trials"], sum(t["trials"] for t in tasks))
        self.assertLessEqual(result["trials"], 40)
        self.assertAlmostEqual(result["best_us"], sum(t["count"] * t["best_us"] for t in tasks))
        self.assertAlmostEqual(result["default_us"], sum(t["count"] * t["default_us"] for t in tasks))
        self.assertEqual(len(lines_of(self.path("r"))), result["trials"])

    def test_seconds_are_those_of_all_kernels(self):
        begin = time.monotonic()
        args = ("--network", self.network(self.KERNELS), "--threads", "1", "--trials", "100000", "--seconds", "4", "--json")
        result = json.loads(self.good("tune", *args))
        self.assertLess(time.monotonic() - begin, 30 * SLOW)
        self.assertIn(result["stopped"], ("seconds", "converged"))

    def test_a_second_run_measures_nothing_again(self):
        args = ("--network", self.network(self.KERNELS), "--threads", "1", "--trials", "20", "--json", "--records",
                self.path("r"))
        first, again = (json.loads(self.good("tune", *args)) for _ in range(2))
        self.assertEqual(first["trials"], again["trials"])
        records = lines_of(self.path("r"))
        self.assertEqual(len({(r["workload"], r["candidate"]) for r in records}), len(records))

    def test_no_trials_give_the_default_schedules(self):
        args = ("--network", self.network(self.KERNELS), "--threads", "1", "--trials", "0", "--json")
        self.assertEqual({t["provenance"] for t in json.loads(self.good("tune", *args))["tasks"]}, {"default"})

    def test_text_output_has_a_row_a_kernel(self):
        done = self.run_tool("tune", "--network", self.network(self.KERNELS), "--threads", "1", "--trials", "10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("softmax:rows=8,cols=40", done.stdout)
        self.assertRegex(done.stderr, "kernel [12] of 2")

    def test_what_is_wrong_with_a_network_is_said(self):
        for kernels, said in (([{"workload": "frobnicate:a=1"}], "frobnicate"), ([], "kernels"),
                              ([{"count": 2}], "workload"), ([{"workload": SMALL, "count": 0}], "count")):
            with self.subTest(kernels=kernels):
                self.assert_fails(self.run_tool("tune", "--network", self.network(kernels), timeout=10), (1,), said)
        self.assert_fails(self.run_tool("tune", "--network", self.path("none"), timeout=10), (1,), "none")
        self.assert_fails(self.run_tool("tune", "--network", "x", "--workload", SMALL, timeout=10), (2,), "--workload")


class Propose(CliTest):
    def test_proposals_do_not_depend_on_the_search_threads(self):
        outputs = set()
        for threads in ("1", "2", "2"):
            outputs.add(self.good("tune", "--workload", "matmul:m=512,n=512,k=512", "--threads", "1", "--seed", "4",
                                  "--propose", "200", "--search-threads", threads))
        self.assertEqual(len(outputs), 1)
        self.assertTrue(outputs.pop().strip())

    def test_another_seed_gives_other_proposals(self):
        one, two = (self.good("tune", "--workload", "matmul:m=512,n=512,k=512", "--propose", "20", "--seed", seed)
                    for seed in ("1", "2"))
        self.assertNotEqual(one, two)

    def test_nothing_is_measured_or_recorded(self):
        path = self.path("r")
        self.good("tune", "--workload", SMALL, "--propose", "5", "--records", path)
        self.assertEqual(lines_of(path), [])


class Interrupted(CliTest):
    ARGS = ["tune", "--workload", WORKLOAD, "--threads", "1", "--seed", "1", "--json"]

    def wait_until(self, condition):
        end = time.monotonic() + 60 * SLOW
        while not condition() and time.monotonic() < end:
            time.sleep(0.005)

    @staticmethod
    def threads_of(pid):
        return len(os.listdir(f"/proc/{pid}/task"))

    def wait_for_records(self, path, count, process):
        end = time.monotonic() + 60 * SLOW
        while len(lines_of(path)) < count and time.monotonic() < end and process.poll() is None:
            time.sleep(0.02)
        self.assertGreaterEqual(len(lines_of(path)), count)

    def assert_none_measured_twice(self, records):
        candidates = [r["candidate"] for r in records]
        self.assertEqual(len(candidates), len(set(candidates)), "a candidate was measured twice")
        trials = [r["trial"] for r in records]
        self.assertEqual(len(trials), len(set(trials)), "a trial was recorded twice")

    def test_kill_9_loses_nothing_and_nothing_is_measured_twice(self):
        seed = int.from_bytes(os.urandom(4), "little")
        rng = random.Random(seed)
        path = self.path("r")
        # The default policy may end of its own accord.
        args = (*self.ARGS, "--policy", "random")
        for kill in range(10):
            process = self.start(*args, "--trials", "100000", "--records", path, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.05, 1.2) * min(SLOW, 3))
            process.kill()
            process.wait()
            self.assertEqual(self.processes_left(seconds=5), [], f"orphans after kill {kill} of seed {seed}")
            self.assert_none_measured_twice(lines_of(path))
        before = lines_of(path)
        goal = len(before) + 5
        result = json.loads(self.good(*args, "--trials", str(goal), "--records", path))
        after = lines_of(path)
        self.assertEqual(result["trials"], goal)
        self.assert_none_measured_twice(after)
        self.assertLessEqual(len(after), goal)
        self.assertEqual(after[:len(before)], before)

    def test_a_finished_run_is_answered_from_its_file(self):
        path = self.path("r")
        first = json.loads(self.good(*self.ARGS, "--trials", "10", "--records", path))
        before = self.contents(path)
        again = json.loads(self.good(*self.ARGS, "--trials", "10", "--records", path))
        self.assertEqual(self.contents(path), before)
        self.assertEqual(again["trials"], first["trials"])
        self.assertIn(again["record"]["candidate"], [r["candidate"] for r in lines_of(path)])

    def test_a_longer_run_continues_a_shorter_one(self):
        path = self.path("r")
        for trials in (1, 6, 11, 30):
            self.good(*self.ARGS, "--trials", str(trials), "--records", path)
            self.assertEqual([r["trial"] for r in lines_of(path)], list(range(trials)))

    def test_another_seed_or_policy_takes_nothing_from_the_file(self):
        path = self.path("r")
        self.good(*self.ARGS, "--trials", "4", "--records", path)
        self.good(*self.ARGS[:-3], "--seed", "2", "--trials", "4", "--records", path)
        self.assertEqual(len(lines_of(path)), 8)

    def test_a_killed_worker_costs_one_candidate_at_most(self):
        path = self.path("r")
        process = self.start(*self.ARGS, "--trials", "60", "--records", path)
        self.wait_for_records(path, 5, process)
        killed = 0
        while killed < 2 and process.poll() is None:
            for pid in self.workers():
                os.kill(pid, signal.SIGKILL)
                killed += 1
            time.sleep(0.3)
        stdout, stderr = process.communicate(timeout=120 * SLOW)
        self.assertEqual(process.returncode, 0, stderr)
        result = json.loads(stdout)
        self.assertEqual(result["trials"], 60)
        self.assertLessEqual(sum(result["failed"].values()), killed)
        self.assertTrue(result["verified"])

    def test_ctrl_c_leaves_whole_records_and_no_process(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                path = self.path(f"r{int(number)}")
                process = self.start(*self.ARGS, "--trials", "100000", "--records", path)
                self.wait_for_records(path, 3, process)
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=60 * SLOW)
                self.assertEqual(process.returncode, 130, stderr)
                self.assertEqual(json.loads(stdout)["stopped"], "interrupted")
                self.assertEqual(self.processes_left(seconds=5), [])
                with open(path, encoding="utf-8") as file:
                    for line in file:
                        self.assertTrue(line.endswith("\n"))
                        json.loads(line)

    def test_ctrl_c_at_the_start_is_survived(self):
        for delay in (0.0, 0.02, 0.1):
            process = self.start(*self.ARGS, "--trials", "100000")
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60 * SLOW)
            # Before the handler is there, the signal ends the process as it always does.
            self.assertIn(process.returncode, (130, -signal.SIGINT))

    def test_ctrl_c_while_the_reference_is_made_is_obeyed(self):
        process = self.start("tune", "--workload", "matmul:m=2000,n=2000,k=2000", "--threads", "1", "--json")
        self.wait_until(lambda: process.poll() is not None or self.threads_of(process.pid) > 1)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60 * SLOW)
        self.assertEqual(process.returncode, 130, stderr)
        result = json.loads(stdout)
        self.assertEqual((result["stopped"], result["trials"], result["record"]), ("interrupted", 0, None))

    def test_ctrl_c_while_the_naive_nest_is_measured_is_obeyed(self):
        path = self.path("r")
        process = self.start("tune", "--workload", "matmul:m=1200,n=1200,k=690", "--threads", "1", "--trials", "0",
                             "--json", "--records", path)
        self.wait_until(lambda: process.poll() is not None or
                        (os.path.exists(path) and b'"final": true' in self.contents(path)))
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60 * SLOW)
        self.assertEqual(process.returncode, 130, stderr)
        result = json.loads(stdout)
        self.assertEqual((result["stopped"], result["naive_us"], result["verified"]), ("interrupted", None, True))

    def test_a_reader_of_progress_that_goes_away_does_not_stop_the_run(self):
        path = self.path("r")
        process = self.start("tune", "--workload", SMALL, "--threads", "1", "--trials", "30", "--records", path)
        process.stderr.close()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60 * SLOW), 0)
        self.assertEqual(len(lines_of(path)), 30)

    def test_a_disk_that_fills_up_is_an_error_with_what_was_recorded(self):
        if is_sanitized():
            self.skipTest("sanitizers write files of their own")
        path = self.path("r")
        # Enough for the memory that is shared with the worker, too little for all records.
        limit = 80 * 1024
        process = subprocess.run([ESPALIER, *self.ARGS, "--trials", "1000", "--records", path], env=self.environment(),
                                 capture_output=True, text=True, timeout=60,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn(path, process.stderr)
        self.assertEqual(self.processes_left(seconds=5), [])
        self.good("records", "show", path)


if __name__ == "__main__":
    unittest.main()
