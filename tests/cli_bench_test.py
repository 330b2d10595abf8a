#!/usr/bin/env python3
"""espalier bench: its JSON, who is absent and why, suites, wrong use, Ctrl-C, and tune_suite.py. Rounds are short: times are
not looked at."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from cli_support import CliTest, ESPALIER, SMALL, is_sanitized

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(ESPALIER).resolve().parent.parent / "libexec" / "espalier"
QUICK = ("--rounds", "3", "--batch-ms", "0.2", "--threads", "1")
DENSE = "matmul:m=24,n=32,k=16,tb=1,weights=constant,epilogue=bias+relu"
CONV = "conv2d:n=1,h=8,w=8,ci=8,co=16,k=3,p=1,epilogue=bias+relu"


def has(peer):
    return any(PROGRAMS.glob(f"bench-{peer}*"))


@unittest.skipUnless(has("espalier"), "built without Google Benchmark")
@unittest.skipIf(is_sanitized(), "other libraries are not instrumented")
class Bench(CliTest):
    def bench(self, *args, **options):
        return self.good("bench", *QUICK, *args, timeout=240, **options)

    def bench_json(self, *args):
        return json.loads(self.bench(*args, "--json", "--quiet"))

    def test_json_is_google_benchmarks_with_a_summary(self):
        result = self.bench_json("--workload", DENSE, "--workload", CONV)
        self.assertIn("num_cpus", result["context"])
        summary = result["summary"]
        self.assertLessEqual({"suite", "threads", "cpu", "peak_gflops", "stream_gbps", "rows", "geomean_ratio",
                              "geomean_ratio_low", "geomean_ratio_high", "min_ratio", "rows_without_peer"},
                             summary.keys())
        self.assertEqual([row["workload"] for row in summary["rows"]], [DENSE, CONV])
        for row in summary["rows"]:
            for key in ("us", "gflops", "of_peak", "default_us"):
                self.assertGreater(row[key], 0, key)
            self.assertEqual(row["lookup"], "default")
            # Every round of every contestant is an entry.
            for name in ["espalier", *row["peers"]]:
                entries = [e for e in result["benchmarks"] if e["name"].startswith(f"{name}/{row['workload']}")]
                self.assertEqual([e["repetition_index"] for e in entries], [0, 1, 2], name)
                self.assertTrue(all(e["time_unit"] == "us" and e["real_time"] > 0 for e in entries))
        self.assertGreater(summary["peak_gflops"], 0)
        self.assertGreater(summary["stream_gbps"], 0)

    @unittest.skipUnless(has("onednn") and has("openblas") and has("eigen"), "not all peers were found")
    def test_peers_do_products_and_say_how(self):
        row = self.bench_json("--workload", DENSE)["summary"]["rows"][0]
        self.assertEqual(set(row["peers"]), {"onednn", "openblas", "eigen"})
        self.assertLessEqual(row["ratio_low"], row["ratio"])
        self.assertLessEqual(row["ratio"], row["ratio_high"])
        self.assertIn(row["details"]["openblas"], ("SkylakeX", "Haswell", "Zen"))
        self.assertIn(":", row["details"]["onednn"])

    @unittest.skipUnless(has("onednn") and has("openblas"), "not all peers were found")
    def test_avx2_holds_everybody_to_avx2(self):
        row = self.bench_json("--workload", DENSE, "--target", "avx2", "--peers", "onednn,openblas")["summary"]["rows"][0]
        self.assertIn(row["details"]["openblas"], ("Haswell", "Zen"))
        self.assertNotIn("avx512", row["details"]["onednn"])

    @unittest.skipUnless(has("onednn"), "oneDNN was not found")
    def test_onednn_agrees_on_every_kind_of_operator(self):
        specs = [
            "batch_matmul:b=2,m=5,n=7,k=6,tb=1,epilogue=scale+add", "matmul:m=5,n=7,k=6,ta=1,epilogue=gelu+mul",
            "conv1d:n=1,l=9,ci=4,co=6,k=3,s=2,p=1,epilogue=bias", "conv3d:n=1,depth=4,h=5,w=6,ci=4,co=6,k=3,p=1",
            "conv2d:n=2,h=9,w=7,ci=4,co=6,k=3,d=2,pt=1,pl=2,pb=0,pr=1", "conv2d:n=1,h=6,w=6,ci=8,co=16,k=3,p=1,g=4",
            "depthwise_conv2d:n=1,h=8,w=8,c=16,k=3,s=2,p=1,epilogue=bias+silu",
            "max_pool2d:n=1,h=8,w=9,c=16,k=3,s=2,p=1,ceil=1", "avg_pool2d:n=1,h=8,w=8,c=16,k=3,s=2,p=1",
            "global_avg_pool2d:n=2,h=4,w=5,c=16", "softmax:rows=6,cols=17", "layer_norm:rows=6,cols=33",
            "reduce:op=mean,shape=6x7x8,axes=0x2", "reduce:op=max,shape=6x7,axes=1",
            "elementwise:op=add+relu,shape=6x7,b=7", "elementwise:op=cscale+bias+hardsigmoid,shape=6x7",
            "transpose:shape=4x5x6,perm=2x0x1",
        ]
        suite = self.write("kinds.txt", "\n".join(specs))
        rows = self.bench_json("--suite", suite, "--peers", "onednn")["summary"]["rows"]
        self.assertEqual(len(rows), len(specs))
        for row in rows:
            self.assertIn("onednn", row["peers"], row)

    def test_what_cannot_be_done_is_a_row_that_says_so(self):
        suite = self.write("suite.txt", f"# two\n{SMALL}\nno_such_operator:n=1\nmatmul:m=4\n")
        summary = self.bench_json("--suite", suite, "--peers", "none")["summary"]
        self.assertEqual(summary["suite"], "suite")
        self.assertEqual((summary["rows_not_done"], summary["rows_without_peer"]), (2, 3))
        done, unknown, incomplete = summary["rows"]
        self.assertEqual((done["peers"], done["ratio"]), ({}, None))
        self.assertEqual((unknown["us"], unknown["peers"], unknown["ratio"]), (None, {}, None))
        self.assertIn("no_such_operator", unknown["error"])
        self.assertIn("k", incomplete["error"])
        self.assertIsNone(summary["geomean_ratio"])
        self.assertIsNone(summary["min_ratio"])

    def test_a_suite_of_nothing_that_can_be_done_fails(self):
        suite = self.write("suite.txt", "something:n=1\nelse\n")
        done = self.run_tool("bench", *QUICK, "--suite", suite)
        self.assertEqual(done.returncode, 1)
        self.assertIn("none of the 2 workloads could be done", done.stderr)

    def test_a_network_is_a_suite(self):
        network = self.write("net.json", json.dumps({"network": "tiny", "kernels": [{"workload": SMALL, "count": 4}]}))
        summary = self.bench_json("--suite", network, "--peers", "none")["summary"]
        self.assertEqual((summary["suite"], summary["rows"][0]["count"]), ("tiny", 4))
        self.assertAlmostEqual(summary["total_us"], 4 * summary["rows"][0]["us"])

    def test_a_definition_as_text_has_no_peers(self):
        text = self.good("explain", "--workload", SMALL, "--show", "dag")
        row = self.bench_json("--workload", self.write("w.dag", text))["summary"]["rows"][0]
        self.assertEqual((row["peers"], row["ratio"]), ({}, None))
        self.assertGreater(row["us"], 0)

    def test_records_are_looked_up_and_the_default_stands_beside(self):
        self.good("tune", "--workload", SMALL, "--threads", "1", "--trials", "4", "--records", self.path("r"), "--quiet")
        row = self.bench_json("--workload", SMALL, "--records", self.path("r"), "--peers", "none")["summary"]["rows"][0]
        self.assertEqual(row["lookup"], "exact")
        self.assertGreater(row["default_us"], 0)

    def test_hand_written_traces_take_part_where_there_is_one(self):
        spec = "softmax:rows=1536,cols=128"
        rows = self.bench_json("--workload", spec, "--workload", SMALL, "--peers", "none")["summary"]["rows"]
        self.assertGreater(rows[0]["trace_us"], 0)
        self.assertNotIn("trace_us", rows[1])

    def test_naive_loops_are_compiled_from_c_or_absent_with_a_remark(self):
        row = self.bench_json("--workload", CONV, "--peers", "none", "--naive")["summary"]["rows"][0]
        self.assertTrue(("naive_us" in row) != ("naive" in row["absent"]), row)
        hidden = {"PATH": self.path("empty")}
        row = json.loads(self.bench("--workload", CONV, "--peers", "none", "--naive", "--json", "--quiet", env=hidden))
        row = row["summary"]["rows"][0]
        self.assertNotIn("naive_us", row)
        self.assertIn("not installed", row["absent"]["naive"])

    def test_settings_of_the_user_do_not_reach_the_contestants(self):
        settings = {"OMP_NUM_THREADS": "7", "BENCHMARK_FILTER": "nothing", "DNNL_VERBOSE": "2", "OPENBLAS_CORETYPE": "x"}
        result = json.loads(self.bench("--workload", SMALL, "--json", "--quiet", env=settings))
        self.assertEqual(result["summary"]["rows_not_done"], 0)

    def test_without_json_there_is_a_table(self):
        text = self.bench("--workload", SMALL, "--peers", "none", "--quiet")
        self.assertRegex(text, r"(?m)^workload +us +GFLOP/s +of peak")
        self.assertRegex(text, rf"(?m)^{SMALL} ")

    def test_json_goes_to_a_file(self):
        out = self.bench("--workload", SMALL, "--peers", "none", "--json", self.path("out.json"))
        self.assertEqual(out, "")
        self.assertEqual(json.loads(self.contents(self.path("out.json")))["summary"]["rows"][0]["workload"], SMALL)

    def test_wrong_use_is_a_sentence(self):
        for args, words in (
            ((), ("--suite", "core")),
            (("--suite", "cores"), ("cores", "ansor, core, odd, ops")),
            (("--suite", str(self.folder)), (str(self.folder),)),
            (("--suite", self.write("empty.txt", "# nothing\n")), ("no workload",)),
            (("--suite", self.write("bad.json", '{"kernels": 3}')), ("kernels",)),
            (("--suite", self.write("cut.json", '{"kernels": [')), ("cut.json",)),
            (("--suite", self.write("binary", b"a\0\xff")), ("no text",)),
            (("--suite", "/dev/zero"), ("/dev/zero",)),
            (("--workload", "matmul:m=4"), ("n",)),
            (("--workload", SMALL, "--peers", "mkl"), ("mkl", "onednn")),
            (("--workload", SMALL, "--peers", ""), ("onednn",)),
            (("--workload", SMALL, "--rounds", "0"), ("--rounds",)),
            (("--workload", SMALL, "--target", "pdp11"), ("--target",)),
            (("--workload", SMALL, "--records", self.path("missing")), ("missing",)),
            (("--workload", SMALL, "--records", self.write("records", "nonsense\n")), ("records",)),
            (("--workload", SMALL, "--json", self.path("no/such/folder"), "--peers", "none", *QUICK), ("no/such/folder",)),
        ):
            with self.subTest(args=args):
                self.assert_fails(self.run_tool("bench", "--quiet", *args), (1, 2), *words)

    def contestants(self):
        found = []
        for pid in self.marked_processes():
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"/bench-" in file.read().split(b"\0")[0]:
                    found.append(pid)
        return found

    def start_long(self, *args):
        process = self.start("bench", "--rounds", "100000", "--batch-ms", "5", "--threads", "1", "--workload", SMALL, *args)
        end = time.monotonic() + 60
        while not self.contestants() and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.5)
        return process

    def test_ctrl_c_reports_what_is_there_and_leaves_nobody(self):
        process = self.start_long("--json", "--quiet")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(out)["summary"]["stopped"], "interrupted")
        self.assertEqual(self.processes_left(seconds=5), [])

    def test_kill_leaves_nobody(self):
        process = self.start_long("--quiet")
        process.kill()
        process.communicate(timeout=30)
        self.assertEqual(self.processes_left(seconds=10), [])

    @unittest.skipUnless(has("eigen"), "Eigen was not found")
    def test_a_peer_that_breaks_down_is_absent_from_the_row(self):
        process = self.start("bench", "--rounds", "60", "--batch-ms", "20", "--threads", "1", "--workload", SMALL, "--json",
                             "--peers", "eigen", "--quiet")
        victim, end = None, time.monotonic() + 60
        while victim is None and time.monotonic() < end:
            for pid in self.contestants():
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if b"/bench-eigen" in file.read():
                        victim = pid
        time.sleep(0.3)
        os.kill(victim, signal.SIGKILL)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        row = json.loads(out)["summary"]["rows"][0]
        self.assertEqual((row["peers"], row["ratio"]), ({}, None))
        self.assertIn("signal 9", row["absent"]["eigen"])

    def test_suites_of_the_project_are_read(self):
        for name in ("core", "ansor", "odd", "ops"):
            with open(ROOT / "bench" / "suites" / f"{name}.txt", encoding="utf-8") as file:
                self.assertGreater(sum(1 for line in file if line.strip() and not line.startswith("#")), 10)

    def test_tune_suite_skips_what_the_file_answers(self):
        suite = self.write("suite.txt", f"{SMALL}\nno_such_operator:n=1\nsoftmax:rows=8,cols=8\n")
        command = [sys.executable, "-B", str(ROOT / "bench" / "tune_suite.py"), "--suite", suite, "--records",
                   self.path("r"), "--tool", ESPALIER, "--trials", "3"]
        first = subprocess.run(command, capture_output=True, text=True, check=True, env=self.environment())
        self.assertIn("2 tuned, 0 found", first.stdout)
        self.assertIn("no_such_operator", first.stdout)
        before = self.contents(self.path("r"))
        second = subprocess.run(command, capture_output=True, text=True, check=True, env=self.environment())
        self.assertIn("0 tuned, 2 found", second.stdout)
        self.assertEqual(self.contents(self.path("r")), before)


if __name__ == "__main__":
    unittest.main()
