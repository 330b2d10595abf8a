#!/usr/bin/env python3
"""Records the pool of measured candidates that cost models are judged on.

    bench/models/record_pool.py --tool build/release/bin/espalier --out FOLDER [--per-task 1000]

For each task of pool_tasks.txt one file of records, FOLDER/NNN.jsonl: random draws, then walks of
the default policy from several seeds. A run that was interrupted goes on where it stopped: `tune`
measures nothing that its records answer. --pack turns the folder into one compressed file for each
kind of CPU (bench/models/data/NAME.jsonl.xz), records as they are: status, every repeat, target, device.
Three are committed: pool-zen4-avx512, pool-zen4-avx2 (--target avx2 --per-task 300, thirteen tasks) and
again-zen4-avx512 (--per-task 120, random draws measured a second time, which says how noisy times are).
--unpack writes the committed pools into a folder, where the programs beside this script read them.
"""

import argparse
import json
import lzma
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Shares of a task's candidates: by policy and seed.
RUNS = [("random", 1, 0.5), ("descent", 1, 0.2), ("descent", 2, 0.15), ("auto", 3, 0.15)]


def tasks():
    lines = (HERE / "pool_tasks.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def record(arguments):
    folder = pathlib.Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    for number, workload in enumerate(tasks()):
        if arguments.only and number not in arguments.only:
            continue
        records = folder / f"{number:03}.jsonl"
        for policy, seed, share in RUNS:
            command = [arguments.tool, "tune", "--workload", workload, "--threads", str(arguments.threads),
                       "--target", arguments.target, "--policy", policy, "--seed", str(seed),
                       "--trials", str(round(arguments.per_task * share)), "--records", str(records),
                       "--model", "none", "--quiet", "--json"]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode != 0:
                sys.exit(f"{' '.join(command)}: {result.stderr.strip()}")
            report = json.loads(result.stdout)
            print(f"{workload}: {policy} {seed}: {report['trials']} trials, "
                  f"best {report['best_us']:.1f} us, {report['seconds']:.0f} s", flush=True)


def pack(arguments):
    lines = []
    for path in sorted(pathlib.Path(arguments.out).glob("*.jsonl")):
        lines += path.read_text().splitlines()
    data = HERE / "data"
    data.mkdir(exist_ok=True)
    target = data / f"{arguments.name}.jsonl.xz"
    target.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{target}: {len(lines)} records, {target.stat().st_size / 1e6:.1f} MB")


def unpack(arguments):
    folder = pathlib.Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((HERE / "data").glob("*.jsonl.xz")):
        (folder / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
        print(folder / path.stem)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/release/bin/espalier")
    parser.add_argument("--out", required=True, help="folder of the records")
    parser.add_argument("--per-task", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--target", default="host")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of tasks, from 0")
    parser.add_argument("--pack", action="store_true", help="compress what was recorded")
    parser.add_argument("--unpack", action="store_true", help="write the committed pools into the folder")
    parser.add_argument("--name", default="pool", help="of the compressed file")
    arguments = parser.parse_args()
    (pack if arguments.pack else unpack if arguments.unpack else record)(arguments)


if __name__ == "__main__":
    main()
