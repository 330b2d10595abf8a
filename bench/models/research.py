#!/usr/bin/env python3
"""Every table about cost models, from the committed pools, in minutes and without a network.

    bench/models/research.py [--tools build/release/bin/bench/models] [--draws 2] [--out docs/results/models.md]

Judges the analyzer, Pruner's formulas and chance on the pools, takes terms of the analyzer and groups of features away,
lets the learned model adapt to tasks and to families that its base has not seen, trains the base that ships
(cost_model/data/base.json) and writes the page with its picture. All but the time of a refit is the same each time.
Peers of the boosted trees are another script, compare_gbdt.py, as they must be fetched.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SAMPLES = (0, 16, 32, 64, 128, 256)
TERMS = ("compute", "loads", "stores", "latency", "l2", "l3", "memory", "traffic")
GROUPS = {
    "ports and chain": r"(hot|next)_(compute|loads|stores|issue|chain|busy)|busy_share",
    "shape of the body": r"(hot|next)_(vectors|rows|terms|body_cycles|core_cycles)|code|cycles",
    "registers": r"(hot|next)_(registers|spilled)|registers_max|spilled_max",
    "lanes, gathers, tails": r"(hot|next)_(lanes_used|gathered|tail)|lanes_mean|tail_mean",
    "loops": r"(hot|next)_(loops|inner_trip)|loops_share",
    "traffic": r"(hot|next)_(l2|l3|memory)_(transfer|repeats)|(l2|l3|memory)_share",
    "working sets": r"(hot|next)_inner_set_.*",
    "set conflicts": r"(hot|next)_fullest_set|fullest_max",
    "threads": r"(hot|next)_(balance|tasks|launch)|balance_min|launch_share|threads",
    "second stage": r"next_.*",
    "structure": r"hot_share|next_share|peak_share|stages|copies_share|write_back_share|intensity",
    "device": r"lanes|vector_registers|load_ports|store_ports|fma_latency",
}
DEFAULT = "evidence_delta"
FEW = 64  # candidates; a smaller space can be measured whole


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def interval(values):
    half = 1.96 * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0
    return f"{statistics.mean(values):.3f} ± {half:.3f}"


def table(head, rows):
    lines = ["| " + " | ".join(map(str, head)) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


class Study:
    def __init__(self, arguments):
        self.tools, self.draws = pathlib.Path(arguments.tools), arguments.draws
        self.work = pathlib.Path(arguments.work)
        self.work.mkdir(parents=True, exist_ok=True)
        run(sys.executable, HERE / "record_pool.py", "--unpack", "--out", self.work / "pool")
        self.pools = sorted((self.work / "pool").glob("*.jsonl"))

    def judge(self, *options):
        out = self.work / "judge.json"
        run(self.tools / "judge", "--json", out, *options, *self.pools)
        return json.loads(out.read_text())

    def adapt(self, *options):
        out = self.work / "adapt.json"
        run(self.tools / "adapt", "--json", out, *options, *self.pools)
        return json.loads(out.read_text())

    def base(self):
        return run(self.tools / "train_base", "--out", ROOT / "cost_model/data/base.json", *self.pools)


def large(tasks):
    return [t for t in tasks if t["candidates"] >= FEW]


def mean_of(tasks, key):
    return statistics.mean(t[key] for t in tasks)


def families(tasks):
    return sorted({t["family"] for t in tasks})


def per_task(rows, key, **wanted):
    """Means over draws, one a task."""
    of = {}
    for row in rows:
        if all(row[k] == v for k, v in wanted.items()):
            of.setdefault(row["workload"], []).append(row[key])
    return [statistics.mean(values) for values in of.values()]


def paired(rows, key, arm, others, samples):
    """What `arm` is better by than each of the others, task by task."""
    ours = per_task(rows, key, arm=arm, samples=samples)
    return [interval([a - b for a, b in zip(ours, per_task(rows, key, arm=other, samples=samples))]) for other in others]


def agreement(pools):
    """Of pairs of a task's candidates, the share that first and last repeat order alike; the mean over tasks."""
    of = {}
    for line in (line for path in pools for line in path.read_text(encoding="utf-8").splitlines()):
        record = json.loads(line)
        if record["status"] == "ok" and len(record["times_us"]) > 1 and not record.get("final"):
            of.setdefault(record["workload"], {}).setdefault(record["candidate"], record["times_us"])
    shares = []
    for candidates in of.values():
        if len(candidates) < FEW:
            continue
        pairs = list(itertools.combinations([(t[0], t[-1]) for t in candidates.values()], 2))
        shares.append(sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs) / len(pairs))
    return statistics.mean(shares)


def without_measurements(models):
    keys = (("Spearman", "spearman"), ("pairs", "pairs"), ("clear pairs", "clear_pairs"), ("Best-1 of 1%", "best_1"),
            ("Best-1 of 5%", "best_5"))
    return table(["", *[k[0] for k in keys]],
                 [[name, *[interval([t[k] for t in large(tasks)]) for _, k in keys]] for name, tasks in models.items()])


def by_family(models):
    rows = []
    for family in families(models["analyzer"]):
        of = {name: [t for t in large(tasks) if t["family"] == family] for name, tasks in models.items()}
        if not of["analyzer"]:
            continue
        ours, chance = mean_of(of["analyzer"], "best_1"), mean_of(of["analyzer"], "random_1")
        rows.append([family, len(of["analyzer"]), f"{mean_of(of['analyzer'], 'spearman'):.3f}", f"{ours:.3f}",
                     f"{mean_of(of['pruner'], 'best_1'):.3f}", f"{chance:.3f}", f"{ours - chance:+.3f}", "yes" if ours - chance >= 0.03 else "no"])
    return table(["family", "tasks", "Spearman", "Best-1 of 1%", "Pruner's formulas", "random draft", "gain", "0.03 or more"],
                 rows)


def adaptation(rows, key):
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    return table(["arm", *SAMPLES], [[a, *[interval(per_task(rows, key, arm=a, samples=n)) for n in SAMPLES]] for a in arms])


def base_by_family(seen, unseen):
    rows = []
    for family in families(unseen):
        def at(rows_, n, family=family):
            return f"{statistics.mean(per_task(rows_, 'pairs', arm=DEFAULT, samples=n, family=family)):.3f}"
        rows.append([family, at(seen, 0), at(seen, 32), at(unseen, 0), at(unseen, 32)])
    return table(["family", "task unseen, 0", "32 samples", "family unseen, 0", "32 samples"], rows)


def term_ablation(study, whole):
    rows = [["nothing", f"{mean_of(large(whole), 'spearman'):.3f}", f"{mean_of(large(whole), 'best_1'):.3f}"]]
    for term in TERMS:
        tasks = large(study.judge("--without", term))
        rows.append([term, f"{mean_of(tasks, 'spearman'):.3f}", f"{mean_of(tasks, 'best_1'):.3f}"])
    return table(["without", "Spearman", "Best-1 of 1%"], rows)


def lead(rows, key):
    others = [arm for arm in dict.fromkeys(row["arm"] for row in rows) if arm != DEFAULT]
    columns = [paired(rows, key, DEFAULT, others, n) for n in SAMPLES]
    return table(["less", *SAMPLES], [[other, *[column[i] for column in columns]] for i, other in enumerate(others)])


def group_ablation(study, seen):
    cases = ((DEFAULT, 32), ("scratch", 256))
    rows = []
    for name, pattern in GROUPS.items():
        found = study.adapt("--repeats", study.draws, "--arms", f"scratch,{DEFAULT}", "--without", pattern)
        both = [{**row, "arm": "with " + row["arm"]} for row in seen] + found
        rows.append([name, *[paired(both, "pairs", arm, ["with " + arm], n)[0] for arm, n in cases]])
    return table(["without", "base, 32 samples", "scratch, 256 samples"], rows)


def peers(path):
    """What compare_gbdt.py measured on the pool's rows, if it is there."""
    if not path.exists():
        return ""
    rows = []
    for case in json.loads(path.read_text(encoding="utf-8")):
        for who in ("ours", "xgboost", "lightgbm"):
            def mean(what, who=who, case=case):
                return statistics.mean(row[who][what] for row in case["rows"])
            rows.append([case["loss"], case["bins"], who, f"{1e3 * mean('fit_seconds'):.0f}",
                         f"{1e3 * mean('predict_seconds'):.1f}", f"{mean('rmse'):.4f}", f"{mean('pair_accuracy'):.4f}"])
    return ("## Boosted trees beside XGBoost `hist` and LightGBM\n\nA random half of the pool's rows to learn from, the other "
            "to be tested on; equal trees, depth, leaves, bins\nand shrinkage, one thread. Recorded by "
            "`bench/models/compare_gbdt.py` (`" + path.name + "`).\n\n"
            + table(["loss", "bins", "", "fit ms", "predict ms", "RMSE", "pair accuracy"], rows))


def picture(rows, path):
    """Pair accuracy by samples, a line an arm."""
    colours = ("#888", "#c33", "#36c", "#393", "#b80", "#808", "#000", "#0aa")
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    at_x = {n: 60 + 90 * i for i, n in enumerate(SAMPLES)}

    def at_y(value):
        return round(300 - (value - 0.7) / 0.2 * 280, 1)

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="680" height="340" font-family="sans-serif" font-size="12">',
             '<rect width="680" height="340" fill="white"/>']
    for value in (0.7, 0.75, 0.8, 0.85, 0.9):
        parts.append(f'<path d="M60 {at_y(value)}H510" stroke="#ddd"/><text x="20" y="{at_y(value) + 4}">{value:.2f}</text>')
    parts += [f'<text x="{x - 8}" y="320">{n}</text>' for n, x in at_x.items()]
    parts.append('<text x="200" y="336">measured candidates of the task</text>')
    for i, (arm, colour) in enumerate(zip(arms, colours)):
        points = " ".join(f"{x},{at_y(statistics.mean(per_task(rows, 'pairs', arm=arm, samples=n)))}"
                          for n, x in at_x.items())
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="530" y="{40 + 18 * i}" fill="{colour}">{arm}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default="build/release/bin/bench/models")
    parser.add_argument("--work", default="build/research/models")
    parser.add_argument("--out", default="docs/results/models.md")
    parser.add_argument("--draws", type=int, default=2, help="of samples a task")
    arguments = parser.parse_args()
    study = Study(arguments)
    out = pathlib.Path(arguments.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    models = {name: study.judge("--model", name) for name in ("analyzer", "pruner", "random")}
    seen = study.adapt("--repeats", study.draws)
    unseen = study.adapt("--repeats", study.draws, "--unseen", "family", "--arms", "frozen,delta,evidence_delta,joint")
    picture(seen, out.with_suffix(".svg"))
    trained = study.base().split(": ", 1)[1].strip()
    tasks = models["analyzer"]
    small = [t["workload"] for t in tasks if t["candidates"] < FEW]
    page = f"""# Cost models on recorded pools

Made by `bench/models/research.py` from {', '.join(f'`bench/models/data/{p.name}.xz`' for p in study.pools)}:
{len(tasks)} tasks on one AVX-512 CPU and one thread, random draws and walks of policies. A candidate's time is the least of
its repeats. Intervals are 95% over tasks. *Clear pairs* are those whose times differ by more than 5%. The times are noisy:
the first and the last repeat of a candidate agree on {agreement(study.pools):.1%} of all pairs. The least of them is less noisy
than one, so a perfect model would reach more than that, but not 100%; how much is not known.

Left out, as their spaces have fewer than {FEW} candidates and can be measured whole:
{', '.join(f'`{w}`' for w in small)}.

## Without measurements

{without_measurements(models)}
By family. Half of the candidates come from walks, so a random draft is good too, and where it reaches more than 0.97
there is no room for a gain of 0.03:

{by_family(models)}
Terms of the analyzer taken away, as far as they are a quantity of the device:

{term_ablation(study, tasks)}
## Learning within an unseen task

Pair accuracy on the rest of a task of which so many candidates were seen. `margin` is the analyzer, `scratch` has no base;
for the others the base has seen all other tasks. `delta` adds trees, `fixed` and `evidence` give leaves new values (a tenth,
or by the rows that reach them), `joint` trains anew on everything with equal weights. The default is `{DEFAULT}`.

{adaptation(seen, "pairs")}
![pair accuracy by samples](models.svg)

The same on clear pairs:

{adaptation(seen, "clear_pairs")}
What the default is better by, task by task, on all pairs:

{lead(seen, "pairs")}
On all pairs where the base has seen no task of the family:

{adaptation(unseen, "pairs")}
What is lost without a group of features, task by task (below 0: lost). What one group says others say in part, and the
analyzer's score is always there:

{group_ablation(study, seen)}
One CPU and one thread: columns of devices and threads are constant here, and this pool cannot judge them.

## The base model

`cost_model/data/base.json`, which `espalier tune` starts from unless `--model` says otherwise. Trained by
`bench/models/train_base` on all of the pool: {trained}. Squared error of log(best time / time) on top of the analyzer's
score, rows weighted by throughput. It knows f32, AVX-512, one thread and the families below. Pair accuracy of the default
arm where the base has not seen the task, or not even its family:

{base_by_family(seen, unseen)}
{peers(out.with_name("gbdt_peers.json"))}
## Time

{run(study.tools / "adapt", "--clock", *study.pools).strip()}, on one core.
"""
    out.write_text(page, encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
