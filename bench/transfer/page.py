"""What the study of transfer found, as Markdown."""

import math
import statistics

LEVELS = {"0": "L0 exact", "1": "L1 extents", "2": "L2 units", "3": "L3 anchor", "4": "L4 role"}


def table(head, rows):
    cells = [head, ["---"] * len(head), *[[str(c) for c in row] for row in rows]]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells) + "\n"


def geomean(values):
    return math.exp(statistics.mean(math.log(v) for v in values))


def percent(part, whole):
    return f"{part / whole:.1%}" if whole else "-"


def family(workload):
    return workload.split(":")[0]


def coverage(networks, pairs):
    """By network: kernels with a donor outside of it at L0 to L3, and at L0 to L4."""
    place = {w: i for i, w in enumerate(pairs["workloads"])}
    rows, without = [], set()
    all_close = all_wide = total = 0
    for name, kernels in networks.items():
        close = wide = 0
        known = [w for w in kernels if w in place]
        for workload in known:
            levels = {level for donor, level in zip(pairs["workloads"], pairs["levels"][place[workload]])
                      if donor not in kernels and level not in ".-"}
            shared = any(workload in others for n, others in networks.items() if n != name)
            if shared:
                levels.add("0")  # another network has the very kernel
            close += bool(levels & set("0123"))
            wide += bool(levels)
            if not levels:
                without.add(workload)
        rows.append([name, len(known), f"{close} ({percent(close, len(known))})", f"{wide} ({percent(wide, len(known))})"])
        all_close, all_wide, total = all_close + close, all_wide + wide, total + len(known)
    rows.append(["all", total, f"{all_close} ({percent(all_close, total)})", f"{all_wide} ({percent(all_wide, total)})"])
    shares = [percent(all_close, total), percent(all_wide, total)]
    text = table(["network", "kernels", "a donor at L0 to L3 outside", "at L0 to L4"], rows)
    if without:
        text += "\nWithout any: " + ", ".join(f"`{w}`" for w in sorted(without)) + ".\n"
    return text, shares


def matches(pairs):
    rows = {}
    for workload, levels in zip(pairs["workloads"], pairs["levels"]):
        counts = rows.setdefault(family(workload), dict.fromkeys("01234.", 0))
        for level in levels:
            if level != "-":
                counts[level] += 1
    body = [[name, *[counts[level] for level in "01234."]] for name, counts in sorted(rows.items())]
    body.append(["all", *[sum(counts[level] for counts in rows.values()) for level in "01234."]])
    return table(["target", *LEVELS.values(), "no match"], body)


def validity(tries):
    kinds, failures = {}, []
    for line in tries:
        for row in line["seeds"]:
            total = kinds.setdefault((row["level"], row["road"]), [0, 0])
            total[0] += row["seeds"]
            total[1] += row["good"]
        for level, n in line["pairs"].items():
            kinds.setdefault((level, "pairs"), [0, 0])[0] += n
        failures += [{"target": line["workload"], **failure} for failure in line["failures"]]
    none = [f for f in failures if f["status"] == "none"]
    rows = []
    for level, name in LEVELS.items():
        made = {road: kinds.get((level, road), [0, 0]) for road in ("retargeted", "decided alike")}
        lost = sum(f["level"] == level for f in none)
        seeds = sum(m[0] for m in made.values()) + lost
        good = sum(m[1] for m in made.values())
        rows.append([name, kinds.get((level, "pairs"), [0])[0], *[m[0] for m in made.values()], lost, seeds - lost - good,
                     percent(good, seeds)])
    seeds = sum(k[0] for (_, road), k in kinds.items() if road != "pairs") + len(none)
    good = sum(k[1] for (_, road), k in kinds.items() if road != "pairs")
    pairs = sum(k[0] for (_, road), k in kinds.items() if road == "pairs")
    rows.append(["all", pairs, "", "", len(none), seeds - len(none) - good, percent(good, seeds)])
    text = table(["level", "pairs", "seeds by retargeting", "by the same decisions", "not carried over", "failed when run", "valid"],
                 rows)
    wrong = sum(f["status"] == "wrong" for f in failures)
    text += (f"\n{seeds} seeds of {pairs} pairs, {sum(line['distinct'] for line in tries)} distinct programs compiled and run; "
             f"wrong: {wrong}.\n")
    if failures:
        text += "\n" + table(["target", "donor", "level", "what happened"],
                             [[f"`{f['target']}`", f"`{f['donor']}`", f["level"], f"{f['status']}: {f['error'].splitlines()[0]}"]
                              for f in failures[:60]])
    return text, percent(good, seeds), wrong


def best(seeds):
    """The speed over the default of the fastest that raced: the first ones did, and of all seeds those that seemed fastest."""
    return max((s["speed"] for s in seeds if s["speed"] is not None), default=0.0)


def sample(races):
    """Of each family and all: the first four, the best seed and the default, over what tuning found."""
    rows, groups = [], {}
    with_seeds = [r for r in races if best(r["seeds"]) > 0 and r["tuned"]]
    for race in with_seeds:
        groups.setdefault(family(race["workload"]), []).append(race)
    for name, group in [*sorted(groups.items()), ("all", with_seeds)]:
        top = [best(r["seeds"][:4]) / r["tuned"] for r in group]
        floor = [max(1.0, best(r["seeds"][:4])) / r["tuned"] for r in group]
        first = [max(best(r["seeds"][:1]), 1e-3) / r["tuned"] for r in group]
        ideal = [best(r["seeds"]) / r["tuned"] for r in group]
        default = [1 / r["tuned"] for r in group]
        near = sum(best(r["seeds"][:4]) >= 0.95 * best(r["seeds"]) for r in group)
        rows.append([name, len(group), *[f"{geomean(v):.3f}" for v in (default, first, top, floor, ideal)],
                     f"{near} ({percent(near, len(group))})"])
    text = table(["target", "kernels", "default", "first seed", "best of 4", "or the default", "best of all seeds",
                  "the 4 hold one within 5% of the best"], rows)
    missed = {r["workload"]: best(r["seeds"][:4]) / best(r["seeds"]) for r in with_seeds}
    missed = [f"`{w}` ({share:.2f})" for w, share in missed.items() if share < 0.95]
    if missed:
        text += "\nThe first four miss it, with the share of the best seed's speed that they reach: " + ", ".join(missed) + ".\n"
    left = [r["workload"] for r in races if r not in with_seeds]
    if left:
        text += "\nWithout a seed: " + ", ".join(f"`{w}`" for w in left) + ".\n"
    return text, rows[-1]


def ladder(races):
    """What each step from the paper's method to ours brings."""
    known = [r for r in races if "ladder" in r and r["tuned"]]
    donors = sum(r["ladder"]["donors"] for r in known)
    rows = []

    def add(name, speeds, rung=None):
        invalid = "-"
        if rung:
            lost = sum(r["ladder"][rung]["does_not_apply"] + r["ladder"][rung]["failed"] + r["ladder"][rung]["wrong"] for r in known)
            invalid = f"{lost} of {donors} ({percent(lost, donors)})"
        slower = sum(s * r["tuned"] < 0.98 for s, r in zip(speeds, known))
        rows.append([name, invalid, f"{geomean(speeds):.3f}", slower])

    def rung_speed(race, rung):
        return (race["ladder"][rung]["speed"] or 1.0) / race["tuned"]

    def with_default(race):
        rung = race["ladder"]["refit"]
        if rung["speed"] is None or rung["us_of_one_call"] > race["ladder"]["default_us_of_one_call"]:
            return 1 / race["tuned"]
        return rung["speed"] / race["tuned"]
    add("`paper`", [rung_speed(r, "paper") for r in known], "paper")
    add("+ map", [rung_speed(r, "map") for r in known], "map")
    add("+ refit", [rung_speed(r, "refit") for r in known], "refit")
    add("+ default among them", [with_default(r) for r in known])
    add("+ robust measuring", [r["ladder"]["robust"] / r["tuned"] for r in known])
    add("+ ranking: 4 are measured", [r["ladder"]["ranked"] / r["tuned"] for r in known])
    add("+ donors of any class, L0 to L4", [max(1.0, best(r["seeds"][:4])) / r["tuned"] for r in known])
    helped = sum(r["ladder"]["in_class"] > 0 for r in known)
    return (table(["", "invalid", "speed / tuned", "kernels slower than the default"], rows)
            + f"\n{helped} of {len(known)} kernels have another one of their class; {donors} pairs.\n")


def machines(races):
    rows, groups = [], {}
    for race in races:
        _, *direction = race["key"]
        if race["tuned"]:
            groups.setdefault(tuple(direction), []).append(race)
    for (source, from_threads, target, threads), group in groups.items():
        def name(where, n):
            return f"{'AVX2' if where == 'avx2' else 'AVX-512'}, {n} thread{'s' if n > 1 else ''}"
        cells = [[1 / r["tuned"] for r in group], [best(r["seeds"][:1]) / r["tuned"] for r in group],
                 [best(r["seeds"][:4]) / r["tuned"] for r in group]]
        rows.append([name(source, from_threads), name(target, threads), len(group),
                     *[f"{geomean([max(v, 1e-3) for v in cell]):.3f}" for cell in cells], f"{min(cells[2]):.3f}"])
    return (table(["tuned for", "refitted to", "kernels", "default", "first seed", "best of 4", "least of those"], rows),
            min(row[5] for row in rows))


def few(lines, trials):
    if not lines:
        return ""
    head = ("## Searches of a few trials\n\nKernels drawn from those for which the donors' searches found at least 15% over the "
            "default schedule.\n\n")
    rows = [[f"`{line['key'][0]}`", *[f"{line[k]:.2f}" for k in ("without", "with", "tuned")]] for line in lines]
    rows.append(["geometric mean", *[f"{geomean([line[k] for line in lines]):.2f}" for k in ("without", "with", "tuned")]])
    return head + table(["speed over the default", f"{trials} trials", f"{trials} trials with seeds", "the donor records' own search"], rows)


def markdown(networks, pairs, look_ups, done, drawn, few_trials):
    carry = pairs["carry_us"]
    distinct = len({w for kernels in networks.values() for w in kernels})
    covered, shares = coverage(networks, pairs)
    tried, valid, wrong = validity(done["tries"])
    sampled, whole = sample(done["races"])
    _, kernels, default, _, four, _, _, near = whole
    others, least_machine = machines(done["machines"])
    summary = table(["what", "aim", "found"], [
        ["seeds that replay, compile, run and are right", "99%, none wrong", f"{valid}, {wrong} wrong"],
        ["kernels with a donor outside their network at L0 to L3; at L0 to L4", "90%; 95%", "; ".join(shares)],
        [f"best of the first 4 seeds / tuned, {kernels} kernels", "0.85", f"{four}; the default schedule {default}"],
        ["kernels whose first 4 hold a seed within 5% of the best one", "90%", near],
        ["refitted between AVX2 and AVX-512, 1 and 2 threads / tuned there", "0.85", f"{least_machine} or more"],
        ["match, retarget and refit of a seed", "200 us", f"99% within {carry['p99']:.0f} us"],
        ["look-up in 100,000 records", "5 ms", f"{max(v for k, v in look_ups.items() if 'among' in k):.0f} us"],
    ])
    return f"""# Transfer between the kernels of eleven networks

Made by `bench/transfer/study.py`. The donors are the best schedules of {len(pairs['workloads'])} of the {distinct} distinct
kernels of eleven networks at batch 1, each tuned with 48 to 100 trials for one thread of a Zen 4 with AVX-512
(`bench/transfer/data/networks-zen4-avx512.jsonl.xz`). Records of a kernel itself are never used for it, unless said.

{summary}
## Who stands for whom

All ordered pairs of different kernels, by the level at which `match` finds them alike:

{matches(pairs)}
Match, retarget and refit of one seed, over {carry['pairs']} of those pairs: median {carry['median']:.0f} us, 90% within
{carry['p90']:.0f} us, 99% within {carry['p99']:.0f} us. Among 100,000 records (`bench/micro`) the nearest donors are found in
{look_ups['find_donors_among_100000_records']:.0f} us and the record of a known task in
{look_ups['look_up_among_100000_records']:.0f} us; to index them takes {look_ups['index_100000_records'] / 1e3:.0f} ms, once.

{covered}
## Whether seeds are valid

Each seed was replayed, compiled, run and compared with the reference: a random sample of pairs of each operator and level,
all of them where there are few.

{tried}
## How good the first seeds are

Two random samples over the operators, of which {kernels} kernels of {drawn} have raced, those of the first sample before those
of the second. Speeds are over what the kernel's own search found, geometric means; all were timed in one
interleaved run a kernel. The constants of the ranking were chosen on other samples (operators with few kernels are in all).

{sampled}
## From the paper's method to ours

The same kernels; up to 16 donors of the kernel's operator class, drawn at random. The first three rows take the one that a
single call found to be the fastest. Kernels for which nothing is left count as their default schedule. The paper lost 39%
to 52% of its candidates where one program has a stage for padding and the other has none; here padding is part of the
definition, so that positions agree wherever names do, and few are lost.

{ladder(done['races'])}
## Other machines

Seeds from records of the same kernel for other vectors or another number of threads, over what 48 trials found there.

{others}
{few(done['few'], few_trials)}"""
