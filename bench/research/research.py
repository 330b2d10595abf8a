#!/usr/bin/env python3
"""Compares search policies: how many trials and seconds until each is as good as the baseline is in the end.

    bench/research/research.py --tool build/release/bin/espalier --seeds 5 --trials 1000

Every run is one line of the log, which is compressed and appended to: an interrupted comparison goes on where it stopped.
Only the baseline needs all trials; others get --share of them. --report makes the pages from the log alone.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import curves
import report
import runs as log

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
POLICIES = ("random", "descent", "evolutionary", "draft_verify", "auto")
ABLATIONS = ("draft_verify:draft=0", "draft_verify:verifier=0", "draft_verify:crossover=0", "draft_verify:audit=0",
             "draft_verify:round=4", "draft_verify:round=32")


def commit():
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def run_one(arguments, workload, policy, seed, limit, model):
    with tempfile.TemporaryDirectory() as folder:
        return run_into(pathlib.Path(folder) / "records", arguments, workload, policy, seed, limit, model)


def run_into(records, arguments, workload, policy, seed, limit, model):
    command = [arguments.tool, "tune", "--workload", workload, "--threads", "1", "--trials", str(limit), "--policy", policy,
               "--seed", str(seed), "--records", str(records), "--json", "--quiet", "--model", model or "none"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    result = json.loads(done.stdout)
    leaders = log.leaders_of(result, [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()])
    return log.summary_of(result, leaders, limit, model, commit())


def retime(arguments, runs):
    """Fills in the speeds of runs that lack them, together with all others of the same workload."""
    changed = False
    for workload in sorted({run["workload"] for run in runs if run["speeds"] is None}):
        group = [run for run in runs if run["workload"] == workload]
        traces = []
        for run in group:
            traces += [trace for trace in run["leaders"] if trace not in traces]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(traces, file)
            file.flush()
            done = subprocess.run([arguments.retime, "--workload", workload, "--rounds", str(arguments.rounds), file.name],
                                  capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"retime {workload}: {done.stderr}")
        speeds = json.loads(done.stdout)["speeds"]
        print(f"{workload}: {len(traces)} schedules timed again", file=sys.stderr, flush=True)
        for run in group:
            run["speeds"] = [speeds[traces.index(trace)] for trace in run["leaders"]]
        changed = True
    return changed


def model_of(arguments, workload):
    """The base model of a task: trained without it, so it has a file of its own, FOLDER/<number of the task>.json."""
    number = log.read_tasks(arguments.tasks).index(workload)
    return str(pathlib.Path(arguments.models) / f"{number}.json")


def limit_of(arguments):
    return max(1, round(arguments.trials * arguments.share))


def planned(arguments, tasks):
    """(workload, policy, seed, limit, model), so ordered that an early stop leaves whole seeds."""
    for seed in range(1, arguments.seeds + 1):
        for workload in tasks:
            yield workload, arguments.baseline, seed, arguments.trials, None
            policies = arguments.policies.split(";") + (list(ABLATIONS) if arguments.ablations else [])
            for policy in filter(None, policies):
                limit = limit_of(arguments)
                yield workload, policy, seed, limit, None
                if arguments.models and policy in ("draft_verify", "auto"):
                    yield workload, policy, seed, limit, model_of(arguments, workload)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=str(ROOT / "build/release/bin/espalier"))
    parser.add_argument("--retime", default=str(ROOT / "build/release/bin/bench/retime"), help="the program of that name")
    parser.add_argument("--rounds", type=int, default=9, help="that each schedule is timed again")
    parser.add_argument("--tasks", default=str(HERE / "tasks.txt"), help="a file with a workload a line")
    parser.add_argument("--pick", help="numbers of tasks, from 1, such as 2,6,7")
    parser.add_argument("--baseline", default="ansor")
    parser.add_argument("--policies", default=";".join(POLICIES), help="separated by ';'")
    parser.add_argument("--ablations", action="store_true", help="draft_verify with one part less, too")
    parser.add_argument("--models", help="folder of base models, one a task, trained without it")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=1000, help="of the baseline")
    parser.add_argument("--share", type=float, default=1.0, help="of those, for the other policies")
    parser.add_argument("--log", default=str(ROOT / "docs/results/search.jsonl.gz"))
    parser.add_argument("--out", default=str(ROOT / "docs/results/search.md"))
    parser.add_argument("--report", action="store_true", help="run nothing")
    arguments = parser.parse_args()

    tasks = log.read_tasks(arguments.tasks)
    if arguments.pick:
        tasks = [tasks[int(number) - 1] for number in arguments.pick.split(",")]
    pathlib.Path(arguments.log).parent.mkdir(parents=True, exist_ok=True)
    known = log.read_log(arguments.log)
    have = {log.key_of(run) for run in known}
    plan = [] if arguments.report else [p for p in planned(arguments, tasks) if p not in have]
    for i, (workload, policy, seed, limit, model) in enumerate(plan):
        run = run_one(arguments, workload, policy, seed, limit, model)
        log.append_to_log(arguments.log, run)
        known.append(run)
        print(f"[{i + 1}/{len(plan)}] {workload} {policy}{' + base' if model else ''} seed {seed}: {run['trials']} trials, "
              f"{run['seconds']:.1f} s, {run['default_us'] / run['best_us']:.3f}x", file=sys.stderr, flush=True)

    if retime(arguments, known):
        log.write_log(arguments.log, known)
    # Runs of other lengths in the same log are other comparisons.
    limits = {True: arguments.trials, False: limit_of(arguments)}
    known = [run for run in known if run["limit"] == limits[run["policy"] == arguments.baseline]]
    comparison = report.Comparison(known, tasks, arguments.baseline, arguments.trials)
    if not comparison.tasks:
        sys.exit(f"no run of the baseline '{arguments.baseline}' with {arguments.trials} trials in {arguments.log}")
    out = pathlib.Path(arguments.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    picture = out.with_suffix(".svg")
    picture.write_text(curves.svg(comparison.tasks, comparison.policies, comparison.of, comparison.limit), encoding="utf-8")
    out.write_text(report.markdown(comparison, (32, 60, 200), picture.name), encoding="utf-8")
    print(f"{out}, {picture}", file=sys.stderr)


if __name__ == "__main__":
    main()
