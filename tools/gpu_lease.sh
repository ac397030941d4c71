#!/usr/bin/env bash
# One stretch of GPU time spent on the paper's runs. Called again on the same machine it goes on; what is finished is in
# one file, to be folded in at home with: rewind paper collect --add FILE
#   tools/gpu_lease.sh SECONDS ROWS.jsonl [options of `rewind paper run`]
# expects the archive of tools/pack_for_gpu.sh in wheels-gpu/site.tar.xz, and data sets are built where they are missing
set -euo pipefail
seconds=${1:?seconds to work} rows=${2:?file for the finished rows}
shift 2
scratch=${REWIND_SCRATCH:-/tmp/rewind}
if [ ! -d "$scratch/site" ]; then
  mkdir -p "$scratch/unpacking" && tar xf wheels-gpu/site.tar.xz -C "$scratch/unpacking"
  mv "$scratch/unpacking" "$scratch/site"
  mkdir -p "$scratch/results" && cp results/paper/finished.json "$scratch/results/"
fi
export PYTHONPATH=src:$scratch/site PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore
export REWIND_DATA=$scratch/data JAX_COMPILATION_CACHE_DIR=$scratch/compiled
python3 -m rewind.cli paper run --out "$scratch/results" --budget "${seconds}s" --jsonl "$rows" "$@"
