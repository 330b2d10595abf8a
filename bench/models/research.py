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
import math
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SAMPLES = (0, 8, 16, 32, 64, 128, 256)
TERMS = ("compute", "loads", "stores", "latency", "l2", "l3", "memory", "traffic")
GROUPS = {
    "ports and chain": r"(hot|next)_(compute|loads|stores|issue|chain|busy)|busy_share",
    "shape of the body": r"(hot|next)_(vectors|rows|terms|body_cycles|core_cycles)|code|cycles",
    "registers": r"(hot|next)_(registers|spilled)|registers_max|spilled_max",
    "lanes, gathers, tails": r"(hot|next)_(lanes_used|gathered|tail)|lanes_mean|tail_mean",
    "traffic": r"(hot|next)_(l2|l3|memory)_(transfer|repeats)|(l2|l3|memory)_share",
    "set conflicts": r"(hot|next)_fullest_set|fullest_max",
    "threads": r"(hot|next)_(balance|tasks|launch)|balance_min|launch_share|threads",
    "second stage": r"next_.*",
    "structure": r"hot_share|next_share|peak_share|stages|copies_share|write_back_share|intensity",
    "device": r"lanes|vector_registers|load_ports|store_ports|fma_latency",
}
POOL, SECOND, AGAIN = "pool-zen4-avx512", "pool-zen4-avx2", "again-zen4-avx512"
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
        self.pool, self.second, self.again = (self.work / "pool" / f"{name}.jsonl" for name in (POOL, SECOND, AGAIN))

    def judge(self, *options):
        out = self.work / "judge.json"
        run(self.tools / "judge", "--json", out, *options, self.pool)
        return json.loads(out.read_text())

    def adapt(self, *options, pool=None):
        out = self.work / "adapt.json"
        run(self.tools / "adapt", "--json", out, "--repeats", self.draws, *options, pool or self.pool)
        return json.loads(out.read_text())

    def base(self):
        return run(self.tools / "train_base", "--out", ROOT / "cost_model/data/base.json", self.pool)


def large(tasks):
    return [t for t in tasks if t["candidates"] >= FEW]


def families_of(rows):
    return {row["family"] for row in rows}


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


def least_times(path):
    """By workload and candidate, the least time of its first record, of those that were repeated."""
    of = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["status"] == "ok" and len(record["times_us"]) > 1 and not record.get("final"):
            of.setdefault(record["workload"], {}).setdefault(record["candidate"], min(record["times_us"]))
    return of


def agreement(study, apart=1.0):
    """Pairs of candidates that were measured twice, hours apart: by task, the share that both orders agree on."""
    first, second = least_times(study.pool), least_times(study.again)
    shares = {}
    for workload, times in second.items():
        both = [(first[workload][c], t) for c, t in times.items() if c in first.get(workload, {})]
        pairs = [(a, b) for a, b in itertools.combinations(both, 2) if max(a[0], b[0]) > apart * min(a[0], b[0])]
        if len(pairs) >= 150:
            shares[workload] = sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs) / len(pairs)
    return shares


def ceiling(share):
    """What a model that knows the true order agrees on with one measurement, where two of them agree on `share`: with
    normal errors, Kendall's tau is 2/pi asin(r), and r between two measurements is the square of that with the truth."""
    squared = math.sin(math.pi / 2 * (2 * share - 1))
    return 0.5 + math.asin(math.sqrt(max(0.0, squared))) / math.pi


def worst_ceilings(agreed):
    least = sorted(agreed, key=agreed.get)[:3]
    return "least: " + ", ".join(f"`{w}` {ceiling(agreed[w]):.2f}" for w in least)


def aims(rows, agreed):
    """What was aimed at, and what is reached."""
    lines = []
    for arm, samples, aim in (("scratch", 256, 0.87), (DEFAULT, 0, 0.75), (DEFAULT, 32, 0.85)):
        values = {key: statistics.mean(per_task(rows, key, arm=arm, samples=samples)) for key in ("pairs", "clear_pairs")}
        noisy = [w for w, share in agreed.items() if share < 0.87]
        quiet = [r for r in rows if r["workload"] in agreed and r["workload"] not in noisy]
        lines.append([f"{arm}, {samples} samples", aim, f"{values['pairs']:.3f}", f"{values['clear_pairs']:.3f}",
                      f"{statistics.mean(per_task(quiet, 'pairs', arm=arm, samples=samples)):.3f}"])
    return table(["", "aim", "all pairs", "clear pairs", "all pairs of tasks whose two measurements agree on 0.87"], lines)


def calibration(rows):
    """The analyzer before and after a few measurements of a task."""
    lines = []
    for n in (8, 16, 32, 64):
        for arm, name in (("margin", "analyzer"), ("calibrated", "calibrated")):
            lines.append([n, name, *[interval(per_task(rows, key, arm=arm, samples=n))
                                     for key in ("spearman", "pairs", "best_1")]])
        gain = [interval([a - b for a, b in zip(per_task(rows, key, arm="calibrated", samples=n),
                                                per_task(rows, key, arm="margin", samples=n))])
                for key in ("spearman", "pairs", "best_1")]
        lines.append([n, "*gain, task by task*", *gain])
    return table(["samples", "", "Spearman", "pairs", "Best-1 of 1%"], lines)


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
        found = study.adapt("--arms", f"scratch,{DEFAULT}", "--without", pattern)
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
                         f"{1e3 * mean('predict_seconds'):.1f}",
                         f"{mean('rmse'):.4f}" if case["loss"] == "squared" else "",
                         f"{mean('pair_accuracy'):.4f}"])
    return ("## Boosted trees beside XGBoost `hist` and LightGBM\n\nA random half of the pool's rows to learn from, the other "
            "to be tested on, margins included; equal trees, depth, leaves,\nbins and shrinkage, one thread; a single split. Recorded by "
            "`bench/models/compare_gbdt.py` (`" + path.name + "`).\n\n"
            + table(["loss", "bins", "", "fit ms", "predict ms", "RMSE", "pair accuracy"], rows))


def picture(rows, path):
    """Pair accuracy by samples, a line an arm."""
    colours = ("#888", "#a85", "#c33", "#36c", "#7a7", "#393", "#b80", "#808", "#000", "#0aa")
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    at_x = {n: 60 + 75 * i for i, n in enumerate(SAMPLES)}

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
    seen = study.adapt()
    unseen = study.adapt("--unseen", "family", "--arms", "frozen,base_calibrated,delta,evidence_delta,joint")
    across = study.adapt("--base-from", study.pool, pool=study.second)
    agreed, agreed_clear = agreement(study), agreement(study, 1.05)
    picture(seen, out.with_suffix(".svg"))
    trained = study.base().split(": ", 1)[1].strip()
    tasks = models["analyzer"]
    small = [t["workload"] for t in tasks if t["candidates"] < FEW]
    page = f"""# Cost models on recorded pools

Made by `bench/models/research.py` from `bench/models/data/{POOL}.jsonl.xz`: {sum(t["candidates"] for t in tasks)} candidates of
{len(tasks)} tasks on one AVX-512 CPU and one thread, random draws and walks of policies. A candidate's time is the least of
its repeats. Intervals are 95% over tasks. *Clear pairs* are those whose times differ by more than 5%.

The times are noisy, and that bounds every model. `{AGAIN}.jsonl.xz` holds candidates of {len(agreed)} tasks measured again hours
later: the two orders agree on {statistics.mean(agreed.values()):.3f} of all pairs and on {statistics.mean(agreed_clear.values()):.3f} of clear pairs. If errors are normal, a model
that knows the true times would order {statistics.mean(map(ceiling, agreed.values())):.3f} of all pairs as the pool does (mean over tasks; {worst_ceilings(agreed)}).

Some 6,400 more candidates of the same tasks, recorded hours later with a newer build, are not in the pool. With them (17,700
candidates, one draw) the figures below are partly lower: `scratch` 0.833 at 256 samples, `evidence_delta` 0.804 at 32 and 0.763 at 0.
Whether that is the changed compiler, disturbed times or a harder mix of candidates is not known.

Settings of the learned model (the ridge, the share of columns, the trees of a delta, which columns are out) were chosen on these
tasks, among some 45 settings most of which differ by less than the intervals: only the base is trained without the task at hand.

Left out, as their spaces have fewer than {FEW} candidates and can be measured whole:
{', '.join(f'`{w}`' for w in small)}.

## Without measurements

{without_measurements(models)}
By family. Half of the candidates come from walks, so a random draft is good too, and where it reaches more than 0.97
there is no room for a gain of 0.03:

{by_family(models)}
A search does not rest on the draft alone, in any family: of what `draft_verify` measures, an eighth is drawn at random from
outside the draft, and the verifier sees the neighbours of the fastest whatever the draft thinks of them.

Terms of the analyzer taken away, as far as they are a quantity of the device:

{term_ablation(study, tasks)}
The pool's arrays fit in the last cache and its programs run on one thread: it cannot judge the terms of memory, the third
cache, balance and launch, which stay.

## The analyzer calibrated

A ridge regression of what the analyzer leaves on the features, rows weighted by throughput, on candidates not measured
(`cost_model/calibration.h`). The learned model starts with it, from four rows on, and fits trees to what it leaves. Whether that gains
anything over trees alone in the default arm could not be told: +0.011 ± 0.016 of all pairs at 16 samples, -0.003 ± 0.005 at 32.

{calibration(seen)}
## Learning within an unseen task

Pair accuracy on the rest of a task of which so many candidates were seen. `margin` is the analyzer, `calibrated`
has no trees, `scratch` no base; for the others the base has seen all other tasks. `base_calibrated` corrects it linearly,
which all below do first, `delta` adds trees, `fixed` and `evidence` give leaves new values (a tenth,
or by the rows that reach them), `joint` trains anew on everything with equal weights. The default is `{DEFAULT}`.

{aims(seen, agreed)}
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
Loops (their steps, entries and trips) and working sets of the innermost loop were columns once: without both, the default gained
0.005 at 16 samples and lost nothing at 256. Extents and footprints of the eight innermost loops gained nothing either.
One CPU and one thread: columns of devices and threads are constant here, and this pool cannot judge them.

## Another target

The base has seen all of the pool above, AVX-512 code; it adapts to AVX2 code of {len(families_of(across))} families on the same machine
(`{SECOND}.jsonl.xz`, {len(per_task(across, "pairs", arm="margin", samples=0))} of the same tasks). This stands for another CPU, of which there is none: vector width, registers and the
code differ, caches and memory do not.

{adaptation(across, "pairs")}
## The base model

`cost_model/data/base.json`, which `espalier tune` starts from unless `--model` says otherwise. Trained by
`bench/models/train_base` on all of the pool: {trained}. Squared error of log(best time / time) on top of the analyzer's
score, rows weighted by throughput. It knows f32, AVX-512, one thread and the families below. Pair accuracy of the default
arm where the base has not seen the task, or not even its family:

{base_by_family(seen, unseen)}
{peers(out.with_name("gbdt_peers.json"))}
## Time

A round of a search, on one core: 8 new rows, a fit to 256, and features and scores of 1,000 candidates. A round draws 25
structures; where each candidate has one of its own, formulas are made for each, which takes most of the time.

{run(study.tools / "adapt", "--clock", study.pool).strip()}
"""
    out.write_text(page, encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
