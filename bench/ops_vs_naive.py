#!/usr/bin/env python3
"""Naive, default and tuned times of every operator on two shapes each, one of them awkward.

Naive is the untiled nest in definition order through the same code generator; default is the schedule that needs no
search; tuned is what so many trials found. All three are of `espalier tune`, which checks every candidate.

    bench/ops_vs_naive.py [--tool build/release/bin/espalier] [--trials 32] [--threads 1] [--only OP]... [--json FILE]
"""

import argparse
import json
import math
import subprocess
import sys

# A comfortable shape, then an awkward one.
WORKLOADS = [
    "matmul:m=256,n=256,k=256",
    "matmul:m=127,n=131,k=253,epilogue=bias+gelu",
    "batch_matmul:b=8,m=64,n=64,k=64",
    "batch_matmul:b=5,m=37,n=61,k=59,tb=1",
    "conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1,epilogue=bias+relu",
    "conv2d:n=1,h=17,w=19,ci=31,co=29,k=3,s=2,p=1,epilogue=bias+relu",
    "depthwise_conv2d:n=1,h=56,w=56,c=64,k=3,p=1,epilogue=bias+relu6",
    "depthwise_conv2d:n=1,h=29,w=31,c=45,k=5,s=2,p=2,epilogue=bias+silu",
    "max_pool2d:n=1,h=56,w=56,c=64,k=3,s=2,p=1",
    "max_pool2d:n=1,h=27,w=31,c=45,k=3,s=2,p=1,ceil=1",
    "avg_pool2d:n=1,h=56,w=56,c=64,k=2,s=2",
    "avg_pool2d:n=1,h=27,w=31,c=45,k=3,s=1,p=1",
    "global_avg_pool2d:n=4,h=7,w=7,c=512",
    "global_avg_pool2d:n=3,h=9,w=5,c=333",
    "reduce:op=sum,shape=1024x512,axes=1",
    "reduce:op=max,shape=61x509x13,axes=0x2",
    "softmax:rows=512,cols=256",
    "softmax:rows=251,cols=197",
    "layer_norm:rows=256,cols=512",
    "layer_norm:rows=127,cols=301",
    "elementwise:op=gelu,shape=256x1024",
    "elementwise:op=cscale+bias+sigmoid,shape=131x257",
    "transpose:shape=512x512,perm=1x0",
    "transpose:shape=17x129x63,perm=2x0x1",
    "embedding:rows=256,cols=256,vocab=4096",
    "embedding:rows=131,cols=75,vocab=997",
]


def tune(arguments, workload):
    command = [arguments.tool, "tune", "--workload", workload, "--threads", str(arguments.threads), "--trials",
               str(arguments.trials), "--seed", str(arguments.seed), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"workload": workload, "error": done.stderr.strip().split("\n")[0]}
    return json.loads(done.stdout)


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/release/bin/espalier")
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="OP", help="this operator (may be repeated)")
    parser.add_argument("--json", metavar="FILE", help="all results of tune, a list")
    arguments = parser.parse_args()

    workloads = [w for w in WORKLOADS if not arguments.only or w.split(":")[0] in arguments.only]
    results, naive, default = [], [], []
    width = max(map(len, workloads), default=0)
    print(f"{'workload':{width}}  {'naive us':>10}  {'default us':>10}  {'tuned us':>10}  {'naive/tuned':>11}  "
          f"{'default/tuned':>13}  failed  verified")
    for workload in workloads:
        result = tune(arguments, workload)
        results.append(result)
        if "error" in result:
            print(f"{workload:{width}}  {result['error']}", flush=True)
            continue
        best = result["best_us"]
        ratios = [result[key] / best if result[key] else None for key in ("naive_us", "default_us")]
        for ratio, collected in zip(ratios, (naive, default)):
            if ratio:
                collected.append(ratio)
        keys = ("naive_us", "default_us", "best_us")
        times = [f"{result[key]:10.1f}" if result[key] else f"{'-':>10}" for key in keys]
        shown = [f"{ratio:.2f}" if ratio else "-" for ratio in ratios]
        print(f"{workload:{width}}  {'  '.join(times)}  {shown[0]:>11}  {shown[1]:>13}  "
              f"{sum(result['failed'].values()):>6}  {'yes' if result['verified'] else 'NO'}", flush=True)
    print(f"geometric mean of naive/tuned {geomean(naive):.2f}, of default/tuned {geomean(default):.2f}, "
          f"over {len(naive)} of {len(workloads)} workloads")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0 if all(result.get("verified") for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
