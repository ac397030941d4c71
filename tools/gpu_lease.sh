#!/usr/bin/env bash
# Time on a borrowed GPU, spent on the paper's runs. The work goes on in the background while the machine is held, so that
# short calls follow one another without stopping it:
#   tools/gpu_lease.sh SECONDS WAIT ROWS.jsonl [options of `rewind paper run`]
# A call that finds no runner at work starts one that has SECONDS; each call waits WAIT seconds for it, shows what it says,
# and leaves what is finished in ROWS.jsonl, to be folded in at home with: rewind paper collect --add ROWS.jsonl
# Expects the archive of tools/pack_for_gpu.sh in wheels-gpu/site.tar.xz. DATASETS="rewind/... rewind/..." are built
# beside the training, in this order; others when their turn comes.
set -euo pipefail
seconds=${1:?seconds of work in all} wait=${2:?seconds to wait in this call} rows=${3:?file for the finished rows}
shift 3
scratch=${REWIND_SCRATCH:-/tmp/rewind}
export PYTHONPATH=src:$scratch/site PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore
export REWIND_DATA=$scratch/data JAX_COMPILATION_CACHE_DIR=$scratch/compiled
if [ ! -d "$scratch/site" ]; then
  mkdir -p "$scratch/unpacking" && tar xf wheels-gpu/site.tar.xz -C "$scratch/unpacking"
  mv "$scratch/unpacking" "$scratch/site"
fi
if [ ! -d "$scratch/results" ]; then
  mkdir -p "$scratch/results" && cp results/paper/finished.json "$scratch/results/"
fi
at_work() { [ -e "$scratch/pid" ] && kill -0 "$(cat "$scratch/pid")" 2> /dev/null; }
if ! at_work; then
  build() { for name in ${DATASETS:-}; do nice python3 -m rewind.cli data build "$name"; done; }
  export -f build
  setsid bash -c build > "$scratch/built" 2>&1 < /dev/null &
  sleep 2 # so that the runner finds the first set being built, and waits for it
  setsid python3 -m rewind.cli paper run --out "$scratch/results" --budget "${seconds}s" --jsonl "$scratch/rows.jsonl" \
    "$@" >> "$scratch/log" 2>&1 < /dev/null &
  echo $! > "$scratch/pid"
fi
while [ $SECONDS -lt "$wait" ] && at_work; do sleep 1; done
tr '\r' '\n' < "$scratch/log" | grep -v '%|' | tail -40
if [ -e "$scratch/rows.jsonl" ]; then cp "$scratch/rows.jsonl" "$rows"; fi
if at_work; then echo "still at work"; else echo "the runner has ended"; fi
