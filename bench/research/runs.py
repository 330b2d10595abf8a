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


def leaders_of(report, records):
    """The schedules that were the best so far when the curve says, by trial, then the one that won in the end."""
    by_trial = {r["trial"]: r["trace"] for r in records if not r.get("final")}
    return [by_trial[trial - 1] for trial, _, _ in report["curve"]] + [report["record"]["trace"]]


def summary_of(report, leaders, limit, model, commit):
    """What is kept of the JSON of `tune`. `speeds` of the leaders over the default schedule are filled in later."""
    return {
        "workload": report["workload"], "policy": report["policy"], "seed": report["seed"], "limit": limit,
        "model": model, "trials": report["trials"], "stopped": report["stopped"], "seconds": report["seconds"],
        "default_us": report["default_us"] or report["best_us"], "best_us": report["best_us"], "phases": report["seconds_by_phase"],
        "failed": sum(report["failed"].values()), "curve": report["curve"], "leaders": leaders, "speeds": None, "threads": report["threads"],
        "cpu": report["record"]["device"], "commit": commit,
    }


def speeds(run):
    """[(trial, seconds, speed-up over the default schedule)] of the schedule that was the best so far.

    Which one that was is what the search believed; what it is worth was timed afterwards, interleaved with the default
    schedule and with those of the other runs. So a lucky measurement makes a curve go down.
    """
    return [(trial, seconds, speed) for (trial, seconds, _), speed in zip(run["curve"], run["speeds"])]


def final_speed(run):
    """Of the schedule that the run returned."""
    return run["speeds"][-1]


def speed_after(run, trials):
    if trials >= run["trials"]:
        return final_speed(run)
    reached = [speed for trial, _, speed in speeds(run) if trial <= trials]
    return reached[-1] if reached else 1.0


def match(run, target, tolerance):
    """(trials, seconds, whether it got there) until the speed-up is within `tolerance` of `target`."""
    for trial, seconds, speed in speeds(run):
        if speed >= target * (1 - tolerance):
            return trial, seconds, True
    return run["trials"], run["seconds"], final_speed(run) >= target * (1 - tolerance)
