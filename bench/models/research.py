#!/usr/bin/env python3
"""Every table about cost models, from the committed pools, in minutes and without a network.

    bench/models/research.py [--tools build/release/bin/bench/models] [--draws 2] [--out docs/results/models.md]

Judges the analyzer, Pruner's formulas and chance on the pools, takes terms of the analyzer and groups of features away,
lets the learned model adapt to tasks and to families that its base has not seen, trains the base that ships
(cost_model/data/base.json) and writes the page with its picture. All but the time of a refit is the same each time.
Peers of the boosted trees are another script, compare_gbdt.py, as they must be fetched.
"""

import argparse
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
                     f"{mean_of(of['pruner'], 'best_1'):.3f}", f"{chance:.3f}", f"{ours - chance:+.3f}"])
    return table(["family", "tasks", "Spearman", "Best-1 of 1%", "Pruner's formulas", "random draft", "gain"], rows)


def adaptation(rows, key):
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    return table(["arm", *SAMPLES], [[a, *[interval(per_task(rows, key, arm=a, samples=n)) for n in SAMPLES]] for a in arms])


def base_by_family(seen, unseen):
    rows = []
    for family in families(unseen):
        def at(rows_, n, family=family):
            return f"{statistics.mean(per_task(rows_, 'pairs', arm='evidence_delta', samples=n, family=family)):.3f}"
        rows.append([family, at(seen, 0), at(seen, 32), at(unseen, 0), at(unseen, 32)])
    return table(["family", "task unseen, 0", "32 samples", "family unseen, 0", "32 samples"], rows)


def term_ablation(study, whole):
    rows = [["nothing", f"{mean_of(large(whole), 'spearman'):.3f}", f"{mean_of(large(whole), 'best_1'):.3f}"]]
    for term in TERMS:
        tasks = large(study.judge("--without", term))
        rows.append([term, f"{mean_of(tasks, 'spearman'):.3f}", f"{mean_of(tasks, 'best_1'):.3f}"])
    return table(["without", "Spearman", "Best-1 of 1%"], rows)


def group_ablation(study, seen):
    rows = [["nothing", *[interval(per_task(seen, "pairs", arm=a, samples=n)) for a, n in
                          (("evidence_delta", 32), ("scratch", 256))]]]
    for name, pattern in GROUPS.items():
        found = study.adapt("--repeats", study.draws, "--arms", "scratch,evidence_delta", "--without", pattern)
        rows.append([name, *[interval(per_task(found, "pairs", arm=a, samples=n)) for a, n in
                             (("evidence_delta", 32), ("scratch", 256))]])
    return table(["without", "base, 32 samples", "scratch, 256 samples"], rows)


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
its repeats. Intervals are 95% over tasks. *Clear pairs* are those whose times differ by more than 5%: a single repeat
orders about 85% of all pairs as another one does, so no model can do much better than that on all pairs. Left out, as
their spaces have fewer than {FEW} candidates and can be measured whole: {', '.join(f'`{w}`' for w in small)}.

## Without measurements

{without_measurements(models)}
By family; where the gain is below +0.03, the analyzer is no better a draft than chance by that measure:

{by_family(models)}
Terms of the analyzer taken away, as far as they are a quantity of the device:

{term_ablation(study, tasks)}
## Learning within an unseen task

Pair accuracy on the rest of a task of which so many candidates were seen. `margin` is the analyzer, `scratch` has no base;
for the others the base has seen all other tasks. The default is `evidence_delta`.

{adaptation(seen, "pairs")}
![pair accuracy by samples](models.svg)

The same on clear pairs:

{adaptation(seen, "clear_pairs")}
The base has seen no task of the family:

{adaptation(unseen, "pairs")}
Groups of features taken away:

{group_ablation(study, seen)}
One CPU and one thread: columns of devices and threads are constant here, and this pool cannot judge them.

## The base model

`cost_model/data/base.json`, which `espalier tune` starts from unless `--model` says otherwise. Trained by
`bench/models/train_base` on all of the pool: {trained}. Squared error of log(best time / time) on top of the analyzer's
score, rows weighted by throughput. It knows f32, AVX-512, one thread and the families below. Pair accuracy of the default
arm where the base has not seen the task, or not even its family:

{base_by_family(seen, unseen)}
## Time

{run(study.tools / "adapt", "--clock", *study.pools).strip()}, on one core.
"""
    out.write_text(page, encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
