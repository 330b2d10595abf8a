#!/usr/bin/env python3
"""Transfer between the kernels of eleven networks: what is valid, who finds a donor, how fast the first seeds are.

    bench/transfer/study.py --bin build/release/bin [--records FILE] [--phase NAME] [--seconds S]

The donors are the committed records, or those of --records. Each phase leaves lines in --work and goes on where it
stopped: tries (untimed), pairs, look_ups, races, machines, few (timed: nothing else should run), page. --seconds bounds one call.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import page

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Kernels of a sample, by operator; all where there are no more.
SAMPLE = {"conv2d": 28, "depthwise_conv2d": 10, "matmul": 8, "global_avg_pool2d": 4, "max_pool2d": 4, "elementwise": 4,
          "batch_matmul": 4, "softmax": 2, "layer_norm": 1, "embedding": 1}
SAMPLES = (4, 5)  # seeds; 1 and others were what the ranking was chosen on
MACHINES = {"conv2d": 5, "depthwise_conv2d": 2, "matmul": 2, "batch_matmul": 1}
FEW = {"conv2d": 4, "depthwise_conv2d": 4, "global_avg_pool2d": 2, "max_pool2d": 2}
FEW_TRIALS = 12
WORTH_SEARCHING = 1.15  # what a search found over the default schedule, for those
DIRECTIONS = (("avx2", 1, "host", 1), ("host", 1, "avx2", 1), ("host", 1, "host", 2), ("host", 2, "host", 1))


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def draw(workloads, sizes, seed):
    """So many of each operator."""
    rng, chosen = random.Random(seed), []
    for family, size in sizes.items():
        of = sorted(w for w in workloads if w.split(":")[0] == family)
        chosen += rng.sample(of, min(size, len(of)))
    return chosen


class Study:
    def __init__(self, arguments):
        self.arguments = arguments
        self.bin = pathlib.Path(arguments.bin)
        self.work = pathlib.Path(arguments.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.start = time.monotonic()
        self.records = pathlib.Path(arguments.records) if arguments.records else self.work / "donors.jsonl"
        if not arguments.records and not self.records.exists():
            self.run(HERE / "distil.py", "unpack", HERE / "data/networks-zen4-avx512.jsonl.xz", self.records)
        self.networks = json.loads((HERE / "data/networks.json").read_text(encoding="utf-8"))
        self.workloads = sorted({w for kernels in self.networks.values() for w in kernels})

    def run(self, *command):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(str(c) for c in command)}\n{done.stderr}")
        return done.stdout

    def stop(self):
        return self.arguments.seconds is not None and time.monotonic() - self.start > self.arguments.seconds

    def each(self, name, keys, work):
        """Lines of NAME.jsonl, one a key; those that are there are not made again."""
        path = self.work / (name + ".jsonl")
        known = {tuple(line["key"]) for line in read_lines(path)}
        todo = [key for key in keys if tuple(key) not in known]
        for i, key in enumerate(todo):
            if self.stop():
                print(f"{name}: {len(todo) - i} to go", file=sys.stderr)
                return
            line = json.dumps({"key": list(key), **work(*key)})
            with path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            print(f"{name}: {' '.join(str(k) for k in key)}", file=sys.stderr, flush=True)

    def subset(self, keep):
        """A file of those records for which `keep` holds."""
        file = tempfile.NamedTemporaryFile("w", suffix=".jsonl")
        for line in self.records.read_text(encoding="utf-8").splitlines():
            if keep(json.loads(line)):
                file.write(line + "\n")
        file.flush()
        return file

    def pairs(self):
        (self.work / "pairs.json").write_text(self.run(self.bin / "bench/transfer/match_pairs", self.records), encoding="utf-8")

    def look_ups(self):
        """How long the index takes: the compiler's own benchmarks."""
        text = self.run(self.bin / "bench/micro", "--benchmark_filter=100000", "--benchmark_format=json")
        unit = {"us": 1, "ms": 1e3}
        times = {b["name"]: b["real_time"] * unit[b["time_unit"]] for b in json.loads(text)["benchmarks"]}
        (self.work / "look_ups.json").write_text(json.dumps(times), encoding="utf-8")

    def tries(self):
        command = ["nice", "-n", "19", self.bin / "bench/transfer/try_seeds", "--sample", self.arguments.sample, "--out",
                   self.work / "tries.jsonl", self.records]
        subprocess.run([str(c) for c in command], check=True)

    def sample(self):
        return list(dict.fromkeys(w for seed in SAMPLES for w in draw(self.workloads, SAMPLE, seed)))

    def races(self):
        def race(workload):
            return json.loads(self.run(self.bin / "bench/transfer/race_seeds", "--workload", workload, "--ladder", 16, "--base",
                                       self.bin.parent / "share/espalier/models/base.json", self.records))
        self.each("races", [(w,) for w in self.sample()], race)

    def tune(self, workload, trials, records, *more):
        return json.loads(self.run(self.bin / "espalier", "tune", "--workload", workload, "--trials", trials, "--records", records,
                                   "--seed", 1, "--json", "--quiet", *more))

    def machines(self):
        """Tunes for other machines; then races seeds from one for another."""
        chosen = draw(self.workloads, MACHINES, 2)
        tuned = self.work / "machines_records.jsonl"

        def tune(workload, target, threads):
            report = self.tune(workload, 48, tuned, "--target", target, "--threads", threads)
            return {"best_us": report["best_us"], "default_us": report["default_us"]}
        # All with as many trials, the host with one thread too.
        kinds = (("host", 1), ("avx2", 1), ("host", 2))
        self.each("machines_tuned", [(w, *kind) for w in chosen for kind in kinds], tune)
        if self.stop():
            return
        all_records = read_lines(tuned)

        def race(workload, from_target, from_threads, target, threads):
            def keep(record):
                bits = "bits=256" in record["target"]
                return any((bits, record["threads"]) == (t == "avx2", n)
                           for t, n in ((from_target, from_threads), (target, threads)))
            with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
                file.writelines(json.dumps(r) + "\n" for r in all_records if r["workload"] == workload and keep(r))
                file.flush()
                return json.loads(self.run(self.bin / "bench/transfer/race_seeds", "--workload", workload, "--target", target,
                                           "--threads", threads, "--own-program", file.name))
        self.each("machines", [(w, *d) for w in chosen for d in DIRECTIONS], race)

    def gains(self):
        """What each kernel's search found over the default schedule, by its records."""
        times = {}
        for record in read_lines(self.records):
            kind = "final" if record.get("final") else record["provenance"]
            times.setdefault(record["workload"], {})[kind] = record["time_us"]
        return {w: t["default"] / t["final"] for w, t in times.items() if "default" in t and "final" in t}

    def few(self):
        """Searches of a few trials, with seeds and without, of kernels where a search finds something."""
        def search(workload):
            traces = []
            with self.subset(lambda r: r["workload"] != workload) as donors, tempfile.TemporaryDirectory() as folder:
                for i, more in enumerate(((), ("--seeds-from", donors.name))):
                    report = self.tune(workload, FEW_TRIALS, pathlib.Path(folder) / str(i), "--threads", 1, *more)
                    traces.append(report["record"]["trace"])
            own = [r for r in read_lines(self.records) if r["workload"] == workload and r.get("final")]
            traces.append(own[-1]["trace"])
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(traces, file)
                file.flush()
                speeds = json.loads(self.run(self.bin / "bench/retime", "--workload", workload, file.name))["speeds"]
            return {"without": speeds[0], "with": speeds[1], "tuned": speeds[2]}
        worth = [w for w, gain in self.gains().items() if gain >= WORTH_SEARCHING]
        self.each("few", [(w,) for w in draw(worth, FEW, 3)], search)

    def page(self):
        done = {name: read_lines(self.work / (name + ".jsonl")) for name in ("tries", "races", "machines", "few")}
        pairs, look_ups = (json.loads((self.work / name).read_text(encoding="utf-8")) for name in ("pairs.json", "look_ups.json"))
        out = pathlib.Path(self.arguments.out)
        out.write_text(page.markdown(self.networks, pairs, look_ups, done, len(self.sample()), FEW_TRIALS), encoding="utf-8")
        print(out, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
    parser.add_argument("--records", help="tuning records to take schedules from")
    parser.add_argument("--work", default=str(ROOT / "build/research/transfer"))
    parser.add_argument("--out", default=str(ROOT / "docs/results/transfer.md"))
    parser.add_argument("--sample", type=int, default=40, help="pairs to try of each operator and level; 0: all")
    phases = ("tries", "pairs", "look_ups", "races", "machines", "few", "page")
    parser.add_argument("--phase", choices=phases, help="one alone")
    parser.add_argument("--seconds", type=float, help="start nothing more after so long")
    arguments = parser.parse_args()
    study = Study(arguments)
    for phase in [arguments.phase] if arguments.phase else phases:
        getattr(study, phase)()


if __name__ == "__main__":
    main()
