#!/usr/bin/env python3
"""espalier transfer, tune --seeds-from, and the third level of look-up."""

import json
import unittest

from cli_support import CliTest

DONOR = "matmul:m=40,n=48,k=32,epilogue=bias+relu"
TARGET = "matmul:m=24,n=64,k=48,epilogue=bias+relu"
OTHER = "softmax:rows=16,cols=32"


class Transfer(CliTest):
    def setUp(self):
        super().setUp()
        self.records = self.path("donors.jsonl")
        self.good("tune", "--workload", DONOR, "--threads", "1", "--trials", "3", "--records", self.records, "--quiet")

    def transfer(self, *args, workload=TARGET):
        return self.good("transfer", "--from", self.records, "--workload", workload, "--threads", "1", *args)

    def test_json_ranks_seeds(self):
        result = json.loads(self.transfer("--json"))
        self.assertEqual(result["workload"], TARGET)
        self.assertGreaterEqual(len(result["seeds"]), 1)
        first = result["seeds"][0]
        self.assertEqual(first["level"], "L1 extents")
        self.assertEqual(first["donor"], DONOR)
        self.assertEqual(len({s["trace"] for s in result["seeds"]}), len(result["seeds"]))
        self.assertTrue(all("closeness" in s and "expected" in s for s in result["seeds"]))
        self.assertTrue(first["trace"])

    def test_what_does_not_match_is_told(self):
        result = json.loads(self.transfer("--json", workload="max_pool2d:n=1,h=8,w=8,c=8,k=2"))
        self.assertEqual(result["seeds"], [])
        self.assertEqual(result["declined"][0]["donor"], DONOR)
        self.assertIn("target", result["declined"][0]["why"])

    def test_explain_shows_map_nests_steps_and_numbers(self):
        text = self.transfer("--explain")
        for part in ("map\n", "loop nests\n", "steps\n", "numbers\n", "i ~ i, j ~ j", "kept"):
            self.assertIn(part, text)

    def test_html_is_a_page_of_its_own(self):
        page = self.path("page.html")
        self.transfer("--html", page)
        html = self.contents(page).decode()
        self.assertTrue(html.startswith("<!DOCTYPE html>"))
        self.assertIn("Loop nests", html)
        for word in ("http://", "https://", "<script"):
            self.assertNotIn(word, html)

    def test_a_network_has_a_line_each(self):
        network = self.write("net.json", json.dumps({"kernels": [{"workload": TARGET, "count": 2}, {"workload": OTHER}]}))
        text = self.good("transfer", "--from", self.records, "--network", network, "--threads", "1", "--json")
        rows = json.loads(text)["workloads"]
        self.assertEqual([r["workload"] for r in rows], [TARGET, OTHER])
        self.assertEqual(rows[0]["level"], "L1 extents")

    def test_a_network_without_kernels_is_refused(self):
        network = self.write("net.json", "{}")
        done = self.run_tool("transfer", "--from", self.records, "--network", network)
        self.assert_fails(done, (1,), "kernels")

    def test_tune_measures_seeds_right_after_the_default(self):
        own = self.path("own.jsonl")
        self.good("tune", "--workload", TARGET, "--threads", "1", "--trials", "4", "--seeds-from", self.records,
                  "--records", own, "--quiet")
        with open(own, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        searched = [r["provenance"] for r in records if not r.get("final")]
        self.assertEqual(searched[:2], ["default", "transferred"])

    def test_policy_paper_replays_schedules_of_the_class(self):
        text = self.good("tune", "--workload", TARGET, "--threads", "1", "--trials", "6", "--policy", "paper",
                         "--seeds-from", self.records, "--json", "--quiet")
        result = json.loads(text)
        self.assertEqual(result["policy"], "paper")
        self.assertLessEqual(result["trials"], 2)  # the default, and the one schedule unless it is the same

    def test_run_looks_up_transferred_before_default(self):
        result = json.loads(self.good("run", "--workload", TARGET, "--threads", "1", "--records", self.records,
                                      "--check", "--json"))
        self.assertEqual(result["lookup"], "transferred")
        self.assertTrue(result["verified"])

    def test_run_falls_back_to_the_default(self):
        result = json.loads(self.good("run", "--workload", OTHER, "--threads", "1", "--records", self.records,
                                      "--json", "--quiet"))
        self.assertEqual(result["lookup"], "default")


if __name__ == "__main__":
    unittest.main()
