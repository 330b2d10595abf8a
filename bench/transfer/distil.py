#!/usr/bin/env python3
"""Packs the records that others' schedules are taken from: of each program, target and number of threads the default
schedule and the best few.

    bench/transfer/distil.py pack records.jsonl bench/transfer/data/NAME.jsonl.xz
    bench/transfer/distil.py unpack bench/transfer/data/NAME.jsonl.xz records.jsonl

A program whose search did not finish (no record marked `final`) is left out.
"""

import json
import lzma
import pathlib
import sys

BEST = 3


def distil(lines):
    groups = {}
    for line in lines:
        record = json.loads(line)
        if record["status"] == "ok" and record["verified"]:
            groups.setdefault((record["workload"], record["target"], record["threads"]), []).append((record, line))
    kept = []
    for _, group in sorted(groups.items()):
        if not any(record.get("final") for record, _ in group):
            continue
        group.sort(key=lambda pair: (not pair[0].get("final"), pair[0]["time_us"]))
        known, chosen = set(), []
        for record, line in group:
            plain = record["provenance"] == "default" and not record.get("final")
            fresh = record["candidate"] not in known
            if plain or (fresh and len(known) < BEST):
                chosen.append(line)
                known.add(record["candidate"])
        kept += chosen
    return kept


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    source, out = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if sys.argv[1] == "unpack":
        out.write_bytes(lzma.decompress(source.read_bytes()))
        return
    kept = distil(source.read_text(encoding="utf-8").splitlines())
    out.write_bytes(lzma.compress(("\n".join(kept) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{out}: {len(kept)} records, {out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
