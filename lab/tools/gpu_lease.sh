#!/usr/bin/env bash
# Time on a borrowed GPU, spent on the paper's runs. The work goes on in the background while the machine is held, so that
# short calls follow one another without stopping it:
#   lab/tools/gpu_lease.sh unpack [STAGES]          in a call of its own: what travelled with it is unpacked; begins to build the data
#   lab/tools/gpu_lease.sh alone SECONDS COMMAND    before all else: a command of rewind that wants a quiet machine (bench ...)
#   lab/tools/gpu_lease.sh begin SECONDS STAGES     first: unpacks, builds the data, trains; SECONDS is all that the lease has, from the first call on
#   lab/tools/gpu_lease.sh wait SECONDS FOLDER      then, again and again: waits, says how it stands, leaves results in FOLDER/home.tar.gz;
#                                                   not longer than until RESERVE seconds before the end
#   lab/tools/gpu_lease.sh take FOLDER              at the end, until nothing is left to take: what trained stages have left to be played
# At home: tar xzf home.tar.gz; rewind paper collect --add stage-*/rows.jsonl; for what was taken see lab/tools/take_evaluations.sh.
# STAGES is a file (lab/tools/stages: the next ones; stages_later: all others, in their order).
# Its first line names the data sets to be built, in this order (of an OGBench set without a task, its card's figures too).
# Each other line is a stage: the options of one `rewind paper run` that trains one group (--groups 1) of a million steps, or
# another command of `rewind` (bench ...). Only fused networks share the GPU well; others starve beside them.
# Runs by uncertainty go into stages of their own (--samplers): they are planned 100 steps at a time, and so is their group.
# A machine that waits for 30 s is given back, and takes everything along (that happened in four leases). Plan before you
# begin, then call `wait` again and again with nothing in between: no reading, no other command, no second thought. Where calls
# can be sent several at a time, send all of them at once, `take` too: each begins when the one before comes back.
# LANES stages (default: 1) train at a time: small groups leave most of the GPU idle. NVIDIA's MPS lets several processes share
# it; without MPS there is one lane. A stage begins when its data is built and a lane is free, which it is when nine tenths of a
# stage are trained, so that starts (data, compilation) are hidden behind ends. It works in a folder of results of its own,
# knows nothing of what other stages train, and has the time that is left. Towards the end lab/tools/spare.py pauses stages that
# cannot finish, and no other begins.
# Two leases can share a machine (REWIND_SCRATCH=/tmp/other), and data (LEASE_DATA=/tmp/rewind/data). Expects the archives of
# lab/tools/pack_for_gpu.sh in wheels-gpu/*.tar.xz; what does not fit into one call's luggage comes with another: `unpack` first.
set -euo pipefail
scratch=${REWIND_SCRATCH:-/tmp/rewind}
export PYTHONPATH=src:lab/src:$scratch/site PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore XLA_PYTHON_CLIENT_PREALLOCATE=false
export REWIND_DATA=${LEASE_DATA:-$scratch/data} JAX_COMPILATION_CACHE_DIR=$scratch/compiled
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # products of small matrices on all cores took them from everybody else
export PATH=$PATH:/usr/local/nvidia/bin
results=${RESULTS:-lab/results/evidence} # what has been trained before
nearly=900000 # steps of a stage after which its lane is free
least=${LEAST:-60} # seconds that are worth a start
reserve=${RESERVE:-75} # seconds before the end at which `wait` comes back, for what is taken
share=${SHARE:-0.5} # of the time that is left, what a stage may take by the estimate: beside others it takes up to 1.8 times as long

unpack() { # each archive once
  local archive
  mkdir -p "$scratch/site" "$scratch/unpacked"
  if [ ! -e "$scratch/first" ]; then date +%s > "$scratch/first"; fi
  for archive in wheels-gpu/*.tar.xz; do
    if [ -e "$scratch/unpacked/${archive##*/}" ]; then continue; fi
    rm -rf "$scratch/part" && mkdir "$scratch/part"
    tar xf "$archive" -C "$scratch/part"
    mv "$scratch"/part/* "$scratch/site/" # at once: builds that are at work import from there
    touch "$scratch/unpacked/${archive##*/}"
  done
}

build_all() { # STAGES: in the background, unless an earlier call has begun
  local names
  if [ -e "$scratch/built" ]; then return; fi
  read -r -a names < "$1"
  touch "$scratch/have"
  setsid "$0" build "${names[@]}" > "$scratch/built" 2>&1 < /dev/null &
}

alone() { # SECONDS COMMAND...
  unpack
  timeout "$1" python3 -m rewind_lab "${@:2}"
}

trained_steps() { # FOLDER: of the group at work there
  tail -q -n 400 "$1"/work/*/group-0/metrics.jsonl 2> /dev/null | sed -E 's/.*"step": ([0-9]+).*/\1/' | sort -n | tail -1 || true
}

nearly_trained() { # FOLDER
  local steps
  steps=$(trained_steps "$1")
  [ "${steps:-0}" -ge $nearly ] || compgen -G "$1/work/*/trained.json" > /dev/null
}

at_work() { [ ! -e "$scratch/ended" ] && kill -0 "$(cat "$scratch/pid")" 2> /dev/null; }

build() { # NAMES...: each one that is there is noted
  local name
  for name in "$@"; do
    if [[ $name == *ogbench* && $name != *-task* ]]; then # nobody waits for it
      nice -n 19 python3 -m rewind_lab data cards "$name" --out "$scratch/cards" || true
    else
      nice -n 5 python3 -m rewind_lab data build "$name" || true # whoever needs it says what is wrong
    fi
    echo "$name" >> "$scratch/have"
  done
}

lanes() { # how many stages may train at a time
  if [ "${LANES:-1}" -gt 1 ] && { pgrep -f nvidia-cuda-mps-control > /dev/null || nvidia-cuda-mps-control -d > /dev/null 2>&1; }; then
    echo "$LANES"
  else
    echo 1
  fi
}

begin() { # SECONDS STAGES
  local ends
  if [ -e "$scratch/pid" ]; then
    echo "a lease has begun in $scratch already: wait for it, or set REWIND_SCRATCH to another folder" >&2
    return 1
  fi
  unpack
  ends=$(($(cat "$scratch/first") + $1))
  echo $ends > "$scratch/ends"
  build_all "$2"
  setsid "$0" stages "$ends" "$2" "$(lanes)" > "$scratch/log" 2>&1 < /dev/null &
  echo $! > "$scratch/pid"
  setsid python3 "$(dirname "$0")/spare.py" "$scratch" $ends > "$scratch/spared" 2>&1 < /dev/null &
}

data_there() { # STAGES OPTIONS...: whether all of the sets to be built that a stage names are there
  local names=" $(head -n 1 "$1") " word
  for word in "${@:2}"; do
    case $names in *" $word "*) grep -qxF "$word" "$scratch/have" || return 1 ;; esac
  done
}

busy() { # how many stages are at work and not nearly trained
  local count=0 number
  for number in "${!pids[@]}"; do
    if kill -0 "${pids[$number]}" 2> /dev/null && ! nearly_trained "$scratch/stage-$number"; then count=$((count + 1)); fi
  done
  echo $count
}

start_stage() { # FOLDER LEFT OPTIONS...
  local folder=$1 left=$2 minutes
  shift 2
  case $* in *ogbench*) share=0.8 ;; esac # estimated from groups that trained beside others
  minutes=$(awk "BEGIN { print $share * $left / 60 }")
  mkdir -p "$folder"
  if [ -e "$results/finished.json" ]; then cp "$results/finished.json" "$folder/"; fi
  case $1 in
    --*) set -- paper run --out "$folder" --budget "${left}s" --group-minutes "$minutes" --jsonl "$folder/rows.jsonl" "$@" ;;
    *) renice -n 5 -p $BASHPID > /dev/null && set -- "${@//FOLDER/$folder}" ;; # nobody waits for it
  esac
  exec python3 -m rewind_lab "$@" > "$folder/log" 2>&1 < /dev/null
}

run_stages() { # ENDS STAGES LANES: what `begin` leaves in the background
  local ends=$1 number=0 options=() left
  declare -A pids=()
  trap 'touch "$scratch/ended"' EXIT
  echo "$3 at a time"
  while read -r -a options || [ ${#options[@]} -gt 0 ]; do
    if [ ${#options[@]} -eq 0 ]; then continue; fi
    number=$((number + 1))
    while [ "$(busy)" -ge "$3" ] || ! data_there "$2" "${options[@]}"; do
      sleep 1
      if [ "$(date +%s)" -ge "$ends" ] || [ -e "$scratch/full" ]; then break; fi
    done
    left=$((ends - $(date +%s)))
    if [ -e "$scratch/full" ]; then
      echo "stage $number and those after it do not begin: others cannot finish"
      break
    fi
    if [ $left -lt "$least" ]; then
      echo "no time is left for stage $number"
      break
    fi
    start_stage "$scratch/stage-$number" $left "${options[@]}" &
    pids[$number]=$!
    echo "stage $number began with $left s left"
  done < <(tail -n +2 "$2")
  wait
}

wait_for() { # SECONDS FOLDER
  if [ ! -e "$scratch/pid" ]; then
    echo "no lease has begun in $scratch" >&2
    return 1
  fi
  mkdir -p "$2"
  local back=$(($(cat "$scratch/ends") - reserve))
  while [ $SECONDS -lt "$1" ] && [ "$(date +%s)" -lt $back ] && at_work; do sleep 1; done
  echo "built: $(tail -n 1 "$scratch/built")"
  local folder
  for folder in "$scratch"/stage-*/; do
    folder=${folder%/}
    [ -e "$folder/log" ] || continue
    echo "${folder##*/}: $(trained_steps "$folder") steps"
    tail -n "${LINES_OF_LOG:-12}" "$folder/log"
  done
  # shellcheck disable=SC2046  # names without spaces
  (cd "$scratch" && tar czf - log built spared $(compgen -G 'stage-*/rows.jsonl'; compgen -G 'stage-*/log'; compgen -G 'stage-*/*-v[0-9].json'; compgen -G cards/cards.json)) \
    > "$2/home.tar.gz" || true
  cat "$scratch/log"
  if at_work; then echo "still at work"; else echo "all stages have ended"; fi
}

take() { # FOLDER: 62 MB at most, which is what a call brings home
  local stage number left=4
  for stage in "$scratch"/stage-*/; do
    number=${stage%/} number=${number##*-}
    if [ $left -eq 0 ] || ! compgen -G "$stage/work/*/trained.json" > /dev/null; then continue; fi
    echo "stage $number: $("$(dirname "$0")/take_evaluations.sh" "$stage" "$1/stage-$number" $left 15500000 2>&1)"
    left=$((left - $(find "$1/stage-$number" -name 'left.tar.*' 2> /dev/null | wc -l)))
  done
}

case ${1:-} in
  unpack)
    unpack
    if [ $# -gt 1 ]; then build_all "$2"; fi
    ;;
  alone) alone "${2:?seconds}" "${@:3}" ;;
  begin) begin "${2:?seconds}" "${3:?file of stages}" ;;
  build) build "${@:2}" ;;
  stages) run_stages "${2:?end}" "${3:?file of stages}" "${4:-1}" ;;
  wait) wait_for "${2:?seconds}" "${3:?folder for the rows}" ;;
  take) take "${2:?folder}" ;;
  *)
    sed -n '2,28s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
