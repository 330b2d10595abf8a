#!/bin/sh
# A layer of ResNet-50 from its definition to a kernel that the search found, beside oneDNN.
# Usage: demo.sh BUILD_FOLDER
set -eu
bin=${1:?the build folder}/bin
records=$1/demo.jsonl
layer=conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,epilogue=bias+relu

title() { printf '\n== %s\n' "$*"; }

title "The layer: $layer"
"$bin/espalier" explain --workload "$layer" --show dag

title "The search: each candidate is compiled by LLVM, checked, and timed on one thread"
"$bin/espalier" tune --workload "$layer" --threads 1 --trials 200 --seconds 60 --seed 1 --records "$records"

title "The schedule that it found"
"$bin/espalier" explain --workload "$layer" --threads 1 --records "$records" --show nest

title "The kernel, run and compared with the naive evaluator"
"$bin/espalier" run --workload "$layer" --threads 1 --records "$records" --check

title "Beside the default schedule, oneDNN, and its loops in C, in 15 interleaved rounds"
"$bin/espalier" bench --workload "$layer" --threads 1 --records "$records" --peers onednn --naive --quiet
