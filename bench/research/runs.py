"""The runs of a comparison: which there are, what is kept of each, and how a run becomes a curve."""

import gzip
import json
import os

PHASES = ("sample", "draft", "features", "score", "fit", "compile", "measure", "verify", "other")
EXPLORING = PHASES[:5]


def read_tasks(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]


def key_of(run):
    return (run["workload"], run["policy"], run["seed"], run["limit"], run.get("model"))


def read_log(path):
    """The runs in a compressed log; one that was torn by a kill is run again."""
    runs = []
    if not os.path.exists(path):
        return runs
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                runs.append(json.loads(line))
    except (EOFError, ValueError, OSError):
        write_log(path, runs)
    return runs


def write_log(path, runs):
    aside = path + ".new"
    with gzip.open(aside, "wt", encoding="utf-8") as file:
        for run in runs:
            file.write(json.dumps(run) + "\n")
    os.replace(aside, path)


def append_to_log(path, run):
    with gzip.open(path, "at", encoding="utf-8") as file:
        file.write(json.dumps(run) + "\n")


def summary_of(report, limit, model, commit):
    """What is kept of the JSON of `tune`."""
    return {
        "workload": report["workload"], "policy": report["policy"], "seed": report["seed"], "limit": limit,
        "model": model, "trials": report["trials"], "stopped": report["stopped"], "seconds": report["seconds"],
        "default_us": report["default_us"] or report["best_us"], "best_us": report["best_us"], "phases": report["seconds_by_phase"],
        "failed": sum(report["failed"].values()), "curve": report["curve"], "threads": report["threads"],
        "cpu": report["record"]["device"], "commit": commit,
    }


def speeds(run):
    """[(trial, seconds, speed-up over the default schedule)], best so far.

    Times of the search are single; the final comparison of a run, interleaved with the default schedule, says what
    its best is worth. So the curve is scaled to end there. The default schedule is the first candidate of every run
    and has speed-up 1, however it happened to be timed.
    """
    final = run["default_us"] / run["best_us"]
    last = run["curve"][-1][2]
    return [(trial, seconds, max(1.0, final * last / us) if trial > 1 else 1.0) for trial, seconds, us in run["curve"]]


def speed_after(run, trials):
    reached = [speed for trial, _, speed in speeds(run) if trial <= trials]
    return reached[-1] if reached else 1.0


def match(run, target, tolerance):
    """(trials, seconds, whether it got there) until the speed-up is within `tolerance` of `target`."""
    for trial, seconds, speed in speeds(run):
        if speed >= target * (1 - tolerance):
            return trial, seconds, True
    return run["trials"], run["seconds"], False
