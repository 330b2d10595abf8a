#!/usr/bin/env python3
"""Our boosted trees beside XGBoost's `hist` and LightGBM: equal trees, depth, leaves, bins, shrinkage and rows.

    bench/models/compare_gbdt.py [--tool build/release/bin/bench/gbdt] [--table TRAIN.csv TEST.csv]... [--threads 1]
                                 [--splits N] [--seeds 5] [--work FOLDER] [--json FILE]

Without --table it draws synthetic tables that look like those of schedules: products of tile sizes, ratios, many ties,
missing values, noise. Peers are installed with pip into FOLDER/venv at first use, and nowhere else. All run in one
process a fit, in turn; times are the least of the repeats; tables are converted to each library's form before the
clock starts, binning counts. The build does not need this script.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TREE = {"depth": 6, "leaves": 64, "eta": 0.1, "lambda": 1.0, "min_child_weight": 1.0}


def enter_venv(folder):
    """Starts this script again inside a virtual environment that holds the peers."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "numpy", "xgboost", "lightgbm"], check=True)
    os.environ["ESPALIER_COMPARE_INSIDE"] = "1"
    os.execv(python, [python, __file__, *sys.argv[1:]])


def synthetic(rows, columns, tasks, seed):
    """A table (label, group, margin, values) whose label is the log of a made-up throughput over the task's best."""
    import numpy as np

    rng = np.random.default_rng(seed)
    values = np.empty((rows, columns), dtype=np.float32)
    group = np.sort(rng.integers(0, tasks, rows))
    tiles = 2.0 ** rng.integers(0, 8, (rows, 8))
    hidden = rng.normal(size=(rows, 4))
    for j in range(columns):
        kind = j % 6
        if kind == 0:  # a tile size
            values[:, j] = np.log2(tiles[:, rng.integers(8)])
        elif kind == 1:  # a footprint: a product of tiles, seen through a shift of the task
            a, b = rng.choice(8, 2, replace=False)
            values[:, j] = np.log2(tiles[:, a] * tiles[:, b] * (1 + group % 5))
        elif kind == 2:  # a ratio with a continuum of values
            values[:, j] = np.exp(hidden[:, rng.integers(4)] + 0.3 * rng.normal(size=rows))
        elif kind == 3:  # a flag
            values[:, j] = rng.random(rows) < 0.3
        elif kind == 4:  # something that not every schedule has
            values[:, j] = np.where(rng.random(rows) < 0.2, np.nan, hidden[:, rng.integers(4)])
        else:  # nothing but noise
            values[:, j] = rng.normal(size=rows)
    t = np.log2(tiles)
    speed = (-0.3 * (t[:, 0] + t[:, 1] - 6) ** 2 / 4 - 0.2 * np.abs(t[:, 2] - t[:, 3]) + 0.4 * np.tanh(hidden[:, 0])
             - 0.5 * (t[:, 4] > 5) * (hidden[:, 1] > 0) + 0.15 * np.sin(3 * hidden[:, 2]) * t[:, 5])
    speed += 0.1 * rng.normal(size=rows)
    best = np.array([speed[group == g].max() if (group == g).any() else 0.0 for g in range(tasks)])
    label = np.maximum(speed - best[group], np.log(1 / 64))
    return label.astype(np.float32), group.astype(np.int64), np.zeros(rows, np.float32), values


def write_csv(path, table):
    import numpy as np

    label, group, margin, values = table
    with open(path, "w", encoding="ascii") as out:
        out.write("label,group,margin," + ",".join(f"f{j}" for j in range(values.shape[1])) + "\n")
        for y, g, m, row in zip(label, group, margin, values):
            fields = ("" if np.isnan(v) else repr(float(v)) for v in row)
            out.write(f"{float(y)!r},{g},{float(m)!r}," + ",".join(fields) + "\n")


def read_csv(path):
    import numpy as np

    data = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=np.float64)
    return (data[:, 0].astype(np.float32), data[:, 1].astype(np.int64), data[:, 2].astype(np.float32),
            np.ascontiguousarray(data[:, 3:], dtype=np.float32))


def judge(label, group, scores):
    import numpy as np

    accuracies, tops = [], []
    for g in np.unique(group):
        y, s = label[group == g], scores[group == g]
        dy, ds = np.sign(y[:, None] - y[None, :]), np.sign(s[:, None] - s[None, :])
        pairs = dy > 0
        if pairs.any():
            accuracies.append(np.mean((ds[pairs] + 1) / 2))
        tops.append(np.exp(y[np.argmax(s)] - y.max()))
    return {"rmse": float(np.sqrt(np.mean((label - scores) ** 2))), "pair_accuracy": float(np.mean(accuracies)),
            "best_of_top_1": float(np.mean(tops))}


def by_group(table):
    """Rows of a group side by side, as the peers demand; labels as throughputs for ranking."""
    import numpy as np

    order = np.argsort(table[1], kind="stable")
    label, group, margin, values = (part[order] for part in table)
    return label, group, margin, values, np.unique(group, return_counts=True)[1]


def least_time(repeats, run):
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
    return best, result


def run_xgboost(train, test, arguments, loss, trees, bins):
    import numpy as np
    import xgboost as xgb

    label, group, margin, values, _ = by_group(train)
    objective = {"objective": "reg:squarederror"} if loss == "squared" else {
        "objective": "rank:ndcg", "ndcg_exp_gain": False, "lambdarank_num_pair_per_sample": 64}
    options = {"tree_method": "hist", "max_depth": TREE["depth"], "eta": TREE["eta"], "lambda": TREE["lambda"],
               "min_child_weight": TREE["min_child_weight"], "max_bin": bins, "nthread": arguments.threads,
               "max_leaves": TREE["leaves"], **objective}

    def fit():
        target = label if loss == "squared" else np.exp(label)
        data = xgb.QuantileDMatrix(values, target, base_margin=margin if margin.any() else None, max_bin=bins,
                                   nthread=arguments.threads, qid=None if loss == "squared" else group)
        return xgb.train(options, data, trees)

    fit_seconds, model = least_time(arguments.repeats, fit)
    margin_of_test = test[2] if test[2].any() else None
    predict_seconds, scores = least_time(
        3 * arguments.repeats, lambda: model.inplace_predict(test[3], predict_type="margin", base_margin=margin_of_test))
    return {"fit_seconds": fit_seconds, "predict_seconds": predict_seconds, **judge(test[0], test[1], scores)}


def run_lightgbm(train, test, arguments, loss, trees, bins):
    import lightgbm as lgb
    import numpy as np

    label, _, margin, values, sizes = by_group(train)
    # Labels must be small integers with a gain each.
    levels = 64
    target = label if loss == "squared" else np.rint(np.exp(label) * (levels - 1)).astype(np.int32)
    objective = {"objective": "l2"} if loss == "squared" else {
        "objective": "lambdarank", "lambdarank_truncation_level": 64, "label_gain": list(range(levels))}
    options = {"max_depth": TREE["depth"], "num_leaves": TREE["leaves"], "learning_rate": TREE["eta"],
               "lambda_l2": TREE["lambda"], "min_sum_hessian_in_leaf": TREE["min_child_weight"],
               "min_data_in_leaf": 1, "max_bin": bins, "min_data_in_bin": 1, "num_threads": arguments.threads,
               "verbose": -1, "deterministic": True, **objective}
    # It probes which layout is faster at each fit unless told; the better one is taken for it.
    best = None
    for layout in ("force_col_wise", "force_row_wise"):
        def fit(layout=layout):
            data = lgb.Dataset(values, target, group=None if loss == "squared" else sizes,
                               init_score=margin if margin.any() else None, params={**options, layout: True})
            return lgb.train({**options, layout: True}, data, trees)

        fit_seconds, model = least_time(arguments.repeats, fit)
        if best is None or fit_seconds < best[0]:
            best = fit_seconds, model
    predict_seconds, scores = least_time(
        3 * arguments.repeats, lambda: best[1].predict(test[3], raw_score=True, num_threads=arguments.threads))
    return {"fit_seconds": best[0], "predict_seconds": predict_seconds, **judge(test[0], test[1], scores + test[2])}


def run_ours(train_path, test_path, arguments, loss, trees, bins):
    command = [arguments.tool, "--train", train_path, "--test", test_path, "--loss", loss, "--trees", str(trees),
               "--depth", str(TREE["depth"]), "--leaves", str(TREE["leaves"]), "--eta", str(TREE["eta"]),
               "--lambda", str(TREE["lambda"]), "--min-child-weight", str(TREE["min_child_weight"]),
               "--max-bins", str(bins), "--threads", str(arguments.threads), "--repeats", str(arguments.repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def centred(train, test):
    """Both with margins that are right on the mean of the training rows: our fit starts from there by itself, and the
    peers, handed margins, do not. Ranking is blind to it."""
    import numpy as np

    shift = np.float32(np.mean(train[0] - train[2])) if train[2].any() else np.float32(0)
    return [(label, group, margin + shift, values) for label, group, margin, values in (train, test)]


def compare(name, train, test, paths, arguments, trees, results):
    train, test = centred(train, test)
    for loss in arguments.losses:
        for bins in arguments.bins:
            row = {"ours": run_ours(*paths, arguments, loss, trees, bins),
                   "xgboost": run_xgboost(train, test, arguments, loss, trees, bins),
                   "lightgbm": run_lightgbm(train, test, arguments, loss, trees, bins)}
            results.setdefault((name, loss, bins, trees), []).append(row)


def compare_splits(arguments, results):
    """Rows of both files of each table together, halved at random several times."""
    import numpy as np

    for paths in arguments.table:
        whole = [np.concatenate(parts) for parts in zip(*map(read_csv, paths))]
        for seed in range(arguments.splits):
            order = np.random.default_rng(seed).permutation(len(whole[0]))
            with tempfile.TemporaryDirectory() as folder:
                halves = [[part[rows] for part in whole] for rows in np.array_split(order, 2)]
                files = [str(pathlib.Path(folder) / f"{half}.csv") for half in ("train", "test")]
                for file, half in zip(files, halves):
                    write_csv(file, half)
                compare(pathlib.Path(paths[0]).stem, *halves, files, arguments, arguments.trees, results)


def mean_of(rows, who, what):
    return statistics.mean(row[who][what] for row in rows)


def print_results(results):
    print(f"{'table':24} {'loss':8} {'bins':>4} {'trees':>5} {'':9} {'fit ms':>8} {'predict us':>10} {'rmse':>7} "
          f"{'pairs':>7} {'top 1':>7}")
    for (name, loss, bins, trees), rows in results.items():
        for who in ("ours", "xgboost", "lightgbm"):
            print(f"{name:24} {loss:8} {bins:4} {trees:5} {who:9} {1e3 * mean_of(rows, who, 'fit_seconds'):8.1f} "
                  f"{1e6 * mean_of(rows, who, 'predict_seconds'):10.0f} {mean_of(rows, who, 'rmse'):7.4f} "
                  f"{mean_of(rows, who, 'pair_accuracy'):7.4f} {mean_of(rows, who, 'best_of_top_1'):7.4f}")
        for what in ("fit_seconds", "predict_seconds"):
            ratios = [row["ours"][what] / min(row["xgboost"][what], row["lightgbm"][what]) for row in rows]
            print(f"    {what.split('_')[0]} time over the faster peer: {statistics.median(ratios):.2f} "
                  f"(from {min(ratios):.2f} to {max(ratios):.2f})")
        for peer in ("xgboost", "lightgbm"):
            gaps = [row["ours"]["pair_accuracy"] - row[peer]["pair_accuracy"] for row in rows]
            spread = statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
            print(f"    pair accuracy less that of {peer}: {statistics.mean(gaps):+.4f} +- {spread:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/release/bin/bench/gbdt")
    parser.add_argument("--table", nargs=2, action="append", default=[], metavar=("TRAIN", "TEST"))
    parser.add_argument("--splits", type=int, default=0, help="halve the rows of each table so many times")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5, help="synthetic tables of each size")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 3000, 24000])
    parser.add_argument("--columns", type=int, default=150)
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--bins", type=int, nargs="+", default=[255, 63])
    parser.add_argument("--losses", nargs="+", default=["squared", "rank"], choices=["squared", "rank"])
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/compare_gbdt"))
    parser.add_argument("--json", help="write all rows here")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    if "ESPALIER_COMPARE_INSIDE" not in os.environ:
        enter_venv(arguments.work.resolve())
    results = {}
    for train_path, test_path in arguments.table if arguments.splits == 0 else []:
        compare(pathlib.Path(train_path).stem, read_csv(train_path), read_csv(test_path), (train_path, test_path),
                arguments, arguments.trees, results)
    if arguments.splits > 0:
        compare_splits(arguments, results)
    if not arguments.table:
        with tempfile.TemporaryDirectory() as folder:
            for rows in arguments.rows:
                for seed in range(arguments.seeds):
                    table = synthetic(rows + 2000, arguments.columns, arguments.tasks, seed)
                    # A random half-and-half within tasks: rows are drawn independently.
                    keep = [part[: rows + 2000] for part in table]
                    import numpy as np

                    order = np.random.default_rng(seed).permutation(rows + 2000)
                    train, test = ([part[o] for part in keep] for o in (order[:rows], order[rows:]))
                    paths = [str(pathlib.Path(folder) / f"{half}.csv") for half in ("train", "test")]
                    write_csv(paths[0], train)
                    write_csv(paths[1], test)
                    compare(f"synthetic {rows}", train, test, paths, arguments, arguments.trees, results)
    print_results(results)
    if arguments.json:
        flat = [{"table": k[0], "loss": k[1], "bins": k[2], "trees": k[3], "rows": v} for k, v in results.items()]
        pathlib.Path(arguments.json).write_text(json.dumps(flat, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
