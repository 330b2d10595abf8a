"""What the runs say, as Markdown."""

from runs import EXPLORING, PHASES, final_speed, match, speed_after
from statistic import geomean, interval, median

TOLERANCE = 0.005


class Comparison:
    """Runs of several policies on several tasks, of which one policy is the baseline."""

    def __init__(self, runs, tasks, baseline, limit):
        self.limit, self.baseline = limit, baseline
        self.by = {}
        for run in runs:
            name = run["policy"] + (" + base" if run.get("model") else "")
            self.by.setdefault((run["workload"], name), []).append(run)
        self.tasks = [t for t in tasks if self.of(t, baseline)]
        self.policies = []
        for _, name in self.by:
            if name not in self.policies:
                self.policies.append(name)

    def of(self, task, policy):
        return self.by.get((task, policy), [])

    def complete(self, policy):
        return [t for t in self.tasks if self.of(t, policy)]

    def target(self, task):
        return median([final_speed(run) for run in self.of(task, self.baseline)])

    def base_seconds(self, task):
        """Of the baseline's whole runs."""
        return geomean([run["seconds"] for run in self.of(task, self.baseline)])

    def base_trials(self, task):
        return geomean([run["trials"] for run in self.of(task, self.baseline)])


def span(values):
    center, low, high = interval(values)
    return f"{center:.3f} ({low:.3f} to {high:.3f})"


def matching(c):
    lines = ["| policy | trials / baseline's | seconds a trial / baseline's | seconds / baseline's | never got there |",
             "| --- | --- | --- | --- | --- |"]
    for policy in c.policies:
        trials, per_trial, seconds, missed, count = [], [], [], 0, 0
        for task in c.complete(policy):
            target, found = c.target(task), []
            for run in c.of(task, policy):
                found.append(match(run, target, TOLERANCE))
            missed += sum(1 for _, _, there in found if not there)
            count += len(found)
            # A run that never got there counts with all that the baseline was given.
            share = [(t if there else max(t, c.limit)) / c.base_trials(task) for t, _, there in found]
            time = [(s if there else max(s, c.base_seconds(task))) / c.base_seconds(task) for _, s, there in found]
            trials.append(share)
            seconds.append(time)
            per_trial.append([b / a for a, b in zip(share, time)])
        if trials:
            lines.append(f"| `{policy}` | {span(trials)} | {span(per_trial)} | {span(seconds)} | {missed} of {count} |")
    return lines


def final_speeds(c, budgets):
    lines = ["| policy | " + " | ".join(f"after {b} trials" for b in budgets) + " | in the end |",
             "| --- |" + " --- |" * (len(budgets) + 1)]
    for policy in c.policies:
        cells = []
        for budget in list(budgets) + [None]:
            groups = [[speed_after(r, budget or r["trials"]) / c.target(t) for r in c.of(t, policy)]
                      for t in c.complete(policy)]
            worst = min((geomean(g) for g in groups), default=1)
            cells.append(f"{span(groups)}, least {worst:.3f}" if groups else "-")
        lines.append(f"| `{policy}` | " + " | ".join(cells) + " |")
    return lines


def each_task(c):
    lines = [f"| task | `{c.baseline}`: speed-up over the default | " +
             " | ".join(f"`{p}`: trials" for p in c.policies) + " |", "| --- | --- |" + " --- |" * len(c.policies)]
    for task in c.tasks:
        finals = sorted(final_speed(r) for r in c.of(task, c.baseline))
        cells = []
        for policy in c.policies:
            found = [match(r, c.target(task), TOLERANCE) for r in c.of(task, policy)]
            if not found:
                cells.append("-")
                continue
            texts = [str(t) if there else f">{t}" for t, _, there in sorted(found)]
            cells.append(" ".join(texts))
        lines.append(f"| `{task}` | {median(finals):.3f} ({finals[0]:.3f} to {finals[-1]:.3f}) | " +
                     " | ".join(cells) + " |")
    return lines


def phases(c):
    lines = ["| policy | ms a trial | exploring | " + " | ".join(PHASES) + " |", "| --- |" + " --- |" * (len(PHASES) + 2)]
    for policy in c.policies:
        runs = [r for t in c.complete(policy) for r in c.of(t, policy)]
        trials = sum(r["trials"] for r in runs)
        if trials == 0:
            continue
        ms = {p: 1e3 * sum(r["phases"][p] for r in runs) / trials for p in PHASES}
        lines.append(f"| `{policy}` | {sum(ms.values()):.1f} | {sum(ms[p] for p in EXPLORING):.2f} | " +
                     " | ".join(f"{ms[p]:.2f}" for p in PHASES) + " |")
    return lines


def markdown(c, budgets, picture):
    runs = [r for group in c.by.values() for r in group]
    seeds = {len(c.of(t, p)) for t in c.tasks for p in c.policies if c.of(t, p)}
    cpus, commits = sorted({r["cpu"] for r in runs}), sorted({r["commit"] for r in runs})
    easy = sum(1 for t in c.tasks if c.target(t) * (1 - TOLERANCE) <= 1)
    text = ["# Search: trials and seconds to match the baseline", "",
            f"{len(c.tasks)} tasks, {min(seeds)} to {max(seeds)} seeds a policy, 1 thread, on {', '.join(cpus)} "
            f"(commit {', '.join(commits)}). The baseline is `{c.baseline}` with {c.limit} trials. Made by bench/research.",
            "", "Whatever was the best so far in some run, by the search's own times, was timed again afterwards, all runs' of a "
            "task together, interleaved with the default schedule: curves and figures are speed-ups over that. "
            "A run matches when its best so far is within 0.5% of the median over seeds of the baseline's final speed-up. "
            "Ratios are geometric means over tasks, with 90% bootstrap intervals over seeds"
            + (": with a single seed they are empty and chance is in every figure" if max(seeds) < 2 else "") + ". A run that "
            "never gets there counts with the baseline's whole budget. Time ratio = trials ratio x ratio of seconds a trial. "
            f"On {easy} of the tasks the default schedule, the first candidate of every run, matches already.",
            "", "## Until the baseline's final speed", ""]
    text += matching(c) + ["", "## Speed over the baseline's in the end", ""] + final_speeds(c, budgets)
    text += ["", "## Trials by task", "", "Trials until it matches, a number a seed.", ""] + each_task(c)
    text += ["", "## Where the time goes", "", "Milliseconds a trial; exploring is sample to fit.", ""] + phases(c)
    text += ["", "## Best so far", "", f"![speed-up over the default schedule by trials]({picture})", ""]
    return "\n".join(text)
