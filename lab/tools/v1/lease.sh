#!/usr/bin/env bash
# The -v1 behaviour policies on a borrowed GPU machine, one lease. In $OUT only what is asked for comes back.
#   lab/tools/v1/lease.sh begin SECONDS             unpacks, trains everything in the background
#   lab/tools/v1/lease.sh wait SECONDS              waits, says how it stands
#   lab/tools/v1/lease.sh measure JOBS NAME [N]     plays the jobs of a file in the background (lab/tools/v1/measure.py)
#   lab/tools/v1/lease.sh take FOLDER NAME...       copies snapshots, as archives of at most 15 MB
# Expects wheels-gpu/v1src.tar.xz and the archives of lab/tools/pack_for_gpu.sh where it is called.
set -euo pipefail
scratch=/tmp/v1
export PYTHONPATH=$scratch/code/src:$scratch/site PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore
export XLA_PYTHON_CLIENT_PREALLOCATE=false OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

begin() {
  mkdir -p $scratch/site $scratch/code
  for archive in learning simulators; do tar xf wheels-gpu/$archive.tar.xz -C $scratch/site; done
  tar xf wheels-gpu/v1src.tar.xz -C $scratch/code
  cd $scratch
  setsid bash -c "for name in ant-first ant-second; do
      python3 code/lab/tools/v1/train.py \$name $scratch/\$name $1 ${2:-} > $scratch/\$name.log 2>&1 & done; wait
      for name in ant-first ant-second; do
      python3 code/lab/tools/v1/jobs.py $scratch/\$name/snapshots 0,1,2,3,4,5,6,7,8,9,10,11 ${SCREEN:-150,250,350,450,550,650} \
        umaze,large-diverse 0,1; done > $scratch/screen.jobs
      python3 code/lab/tools/v1/measure.py $scratch/screen.jobs $scratch/screen.out" > $scratch/ants.log 2>&1 < /dev/null &
  setsid bash -c "for name in hopper halfcheetah walker2d; do
      python3 code/lab/tools/v1/train.py \$name $scratch/\$name $1 ${2:-} > $scratch/\$name.log 2>&1; done" > $scratch/others.log 2>&1 < /dev/null &
}

stand() {
  for name in ant-first ant-second hopper halfcheetah walker2d; do
    [ -e $scratch/$name.log ] || continue
    echo "== $name: $(tail -c 200 $scratch/$name.log | tr '\r' '\n' | tail -n 1)"
    python3 $scratch/code/lab/tools/v1/curve.py $scratch/$name/curve.jsonl 2> /dev/null || true
  done
  wc -l $scratch/*.out 2> /dev/null || true
}

case $1 in
  begin) begin "$2" "${3:-}" ;;
  wait) sleep "$2"; stand ;;
  stand) stand ;;
  measure)
    cp "$2" "$scratch/$3.jobs"
    cd $scratch
    setsid python3 code/lab/tools/v1/measure.py "$scratch/$3.jobs" "$scratch/$3.out" "${4:-16}" > "$scratch/$3.log" 2>&1 < /dev/null &
    ;;
  take)
    mkdir -p "$2"
    for name in "${@:3}"; do
      tar cf - -C $scratch "$name" | split -b 15M -d - "$2/$name.tar."
    done
    ;;
esac
