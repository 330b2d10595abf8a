#!/usr/bin/env python3
"""Tunes every line of a suite into one record file. Lines that a finished run in the file answers are skipped, and a run
that was stopped goes on where it was, so the command may be interrupted and given again.

    bench/tune_suite.py --suite core --records core.jsonl
    build/release/bin/espalier bench --suite core --records core.jsonl --threads 1

For each line: the naive nest through the same compiler, the default schedule, which needs no search, and the best found.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_suite(name):
    """The workloads of a suite of the project, of a file of lines, or of a network's JSON."""
    path = pathlib.Path(name)
    if not path.is_file():
        path = ROOT / "bench" / "suites" / f"{name}.txt"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.txt")))
        sys.exit(f"tune_suite: there is no suite and no file '{name}'; suites are {known}")
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("{"):
        return [kernel["workload"] for kernel in json.loads(text)["kernels"]]
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def answered(path):
    """What finished runs in a record file answer, as (hash of the definition, target, threads)."""
    found = set()
    if not os.path.exists(path):
        return found
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and record.get("final") and record.get("verified"):
                found.add((record["hash"], record["target"], record["threads"]))
    return found


def run(arguments, verb, workload, *more):
    """The JSON that the tool gives, or a sentence why not."""
    command = [arguments.tool, verb, "--workload", workload, "--target", arguments.target, "--threads",
               str(arguments.threads), "--json", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode != 0:
        return done.stderr.strip().split("\n")[0] or f"{verb} ended with status {done.returncode}"
    return json.loads(done.stdout)


def geomean(values):
    return f"{math.exp(sum(map(math.log, values)) / len(values)):.2f}" if values else "-"


def tune_all(arguments, workloads):
    limits = ["--seconds", str(arguments.seconds)] if arguments.seconds else []
    width = max(map(len, workloads))
    print(f"{'workload':{width}}  {'naive us':>10}  {'default us':>10}  {'tuned us':>10}  {'naive/tuned':>11}  "
          f"{'default/tuned':>13}  failed  verified", flush=True)
    done, skipped, bad, ratios = answered(arguments.records), 0, 0, {"naive_us": [], "default_us": []}
    for workload in workloads:
        task = run(arguments, "explain", workload)
        if isinstance(task, str):
            print(f"{workload:{width}}  {task}", flush=True)
            continue
        if (task["hash"], task["target"], task["threads"]) in done:
            skipped += 1
            continue
        result = run(arguments, "tune", workload, "--trials", str(arguments.trials), "--seed", str(arguments.seed),
                     "--policy", arguments.policy, "--records", arguments.records, "--quiet", *limits)
        if isinstance(result, str):
            bad += 1
            print(f"{workload:{width}}  {result}", flush=True)
            continue
        best = result["best_us"]
        cells = [f"{workload:{width}}"]
        cells += [f"{result[key]:10.1f}" if result[key] else f"{'-':>10}" for key in ("naive_us", "default_us", "best_us")]
        for key, column in (("naive_us", 11), ("default_us", 13)):
            if result[key]:
                ratios[key].append(result[key] / best)
            cells.append(f"{result[key] / best:{column}.2f}" if result[key] else f"{'-':>{column}}")
        bad += not result["verified"]
        cells += [f"{sum(result['failed'].values()):>6}", "yes" if result["verified"] else "NO"]
        print("  ".join(cells), flush=True)
    print(f"{len(ratios['default_us'])} tuned, {skipped} found in {arguments.records}; geometric mean of naive/tuned "
          f"{geomean(ratios['naive_us'])}, of default/tuned {geomean(ratios['default_us'])}")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True, metavar="NAME|FILE")
    parser.add_argument("--records", required=True, metavar="FILE")
    parser.add_argument("--tool", default=str(ROOT / "build/release/bin/espalier"))
    parser.add_argument("--target", default="host")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seconds", type=float, help="of each search at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="auto")
    arguments = parser.parse_args()
    try:
        return tune_all(arguments, read_suite(arguments.suite))
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
