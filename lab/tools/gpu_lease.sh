#!/usr/bin/env bash
# Time on a borrowed GPU, spent on the paper's runs. The work goes on in the background while the machine is held, so that
# short calls follow one another without stopping it:
#   lab/tools/gpu_lease.sh begin SECONDS STAGES     first: unpacks, builds the data, trains; SECONDS is all that the lease has left
#   lab/tools/gpu_lease.sh wait SECONDS FOLDER      then, again and again: waits, says how it stands, leaves finished rows in FOLDER
#   lab/tools/gpu_lease.sh take STAGE FOLDER        at the end: what is left to be played of a trained stage
# At home: rewind paper collect --add FOLDER/*.jsonl; for what was taken see lab/tools/take_evaluations.sh.
# STAGES is a file (lab/tools/stages: the next ones; then stages_adroit, which needs wheels-gpu/adroit.tar.xz too; then
# stages_antmaze): the first line names the data sets to be built, in this order; each other line is a stage, the options of
# one `rewind paper run` that trains one group (--groups 1) of a million steps. A stage begins
# when nine tenths of the one before are trained, so that its start (data, compilation) is hidden behind that end. It works
# in a folder of results of its own, knows nothing of what other stages train, and has the time that is left.
# Expects the archives of lab/tools/pack_for_gpu.sh in wheels-gpu/*.tar.xz.
set -euo pipefail
scratch=${REWIND_SCRATCH:-/tmp/rewind}
export PYTHONPATH=src:lab/src:$scratch/site PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore XLA_PYTHON_CLIENT_PREALLOCATE=false
export REWIND_DATA=$scratch/data JAX_COMPILATION_CACHE_DIR=$scratch/compiled
results=${RESULTS:-lab/results/evidence} # what has been trained before
nearly=900000 # steps of a stage after which the next begins
least=60      # seconds that are worth a start

trained_steps() { # FOLDER: of the group at work there
  tail -q -n 400 "$1"/work/*/group-0/metrics.jsonl 2> /dev/null | sed -E 's/.*"step": ([0-9]+).*/\1/' | sort -n | tail -1 || true
}

nearly_trained() { # FOLDER
  local steps
  steps=$(trained_steps "$1")
  [ "${steps:-0}" -ge $nearly ] || compgen -G "$1/work/*/trained.json" > /dev/null
}

at_work() { [ ! -e "$scratch/ended" ] && kill -0 "$(cat "$scratch/pid")" 2> /dev/null; }

begin() { # SECONDS STAGES
  local ends=$(($(date +%s) + $1)) names
  if [ -e "$scratch/pid" ]; then
    echo "a lease has begun in $scratch already: wait for it, or set REWIND_SCRATCH to another folder" >&2
    return 1
  fi
  mkdir -p "$scratch/site" && for archive in wheels-gpu/*.tar.xz; do tar xf "$archive" -C "$scratch/site"; done
  names=$(head -n 1 "$2")
  setsid bash -c "for name in $names; do nice python3 -m rewind_lab data build \$name; done" > "$scratch/built" 2>&1 < /dev/null &
  sleep 2 # so that the runner finds the first set being built, and waits for it
  setsid "$0" stages "$ends" "$2" > "$scratch/log" 2>&1 < /dev/null &
  echo $! > "$scratch/pid"
}

run_stages() { # ENDS STAGES: what `begin` leaves in the background
  local ends=$1 number=0 options=() folder left pid
  trap 'touch "$scratch/ended"' EXIT
  while read -r -a options || [ ${#options[@]} -gt 0 ]; do
    if [ ${#options[@]} -eq 0 ]; then continue; fi
    number=$((number + 1)) && folder=$scratch/stage-$number
    left=$((ends - $(date +%s)))
    if [ $left -lt $least ]; then
      echo "no time is left for stage $number"
      break
    fi
    mkdir -p "$folder"
    if [ -e "$results/finished.json" ]; then cp "$results/finished.json" "$folder/"; fi
    python3 -m rewind_lab paper run --out "$folder" --budget ${left}s --jsonl "$folder/rows.jsonl" \
      "${options[@]}" > "$folder/log" 2>&1 < /dev/null &
    pid=$!
    while kill -0 $pid 2> /dev/null && ! nearly_trained "$folder"; do sleep 1; done
  done < <(tail -n +2 "$2")
  wait
}

wait_for() { # SECONDS FOLDER
  if [ ! -e "$scratch/pid" ]; then
    echo "no lease has begun in $scratch" >&2
    return 1
  fi
  mkdir -p "$2"
  while [ $SECONDS -lt "$1" ] && at_work; do sleep 1; done
  echo "built: $(tail -n 1 "$scratch/built")"
  local folder
  for folder in "$scratch"/stage-*; do
    [ -e "$folder/log" ] || continue
    echo "${folder##*/}: $(trained_steps "$folder") steps"
    tail -n 12 "$folder/log"
    if [ -e "$folder/rows.jsonl" ]; then cp "$folder/rows.jsonl" "$2/${folder##*/}.jsonl"; fi
  done
  cat "$scratch/log"
  if at_work; then echo "still at work"; else echo "all stages have ended"; fi
}

case ${1:-} in
  begin) begin "${2:?seconds}" "${3:?file of stages}" ;;
  stages) run_stages "${2:?end}" "${3:?file of stages}" ;;
  wait) wait_for "${2:?seconds}" "${3:?folder for the rows}" ;;
  take) "$(dirname "$0")/take_evaluations.sh" "$scratch/stage-${2:?number of the stage}" "${3:?folder}" ;;
  *)
    sed -n '2,13s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
