#!/usr/bin/env bash
# What trained groups have left to play, in pieces small enough to be brought home from a borrowed machine, whether or not a
# runner is still at work there:
#   lab/tools/take_evaluations.sh RESULTS FOLDER [PIECES [BYTES]]      there, until nothing is left to take
#   cat FOLDER/left.tar.* | tar x -C lab/results/paper/work            at home, after each call
#   rewind paper finish                                            at home, after the last
set -euo pipefail
results=${1:?folder of results} folder=${2:?folder for the pieces} pieces=${3:-4} bytes=${4:-16000000}
work=$(realpath "$results")/work
mkdir -p "$folder"
rm -f "$folder"/left.tar.*
folder=$(realpath "$folder") taken=$work/taken
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
touch "$taken"
cd "$work"

room=$((pieces * bytes - 10240)) # what tar ends with
waiting=0
take() { # FILE: a copy of it, as it is now; it may be gone, once it is played
  mkdir -p "$copy/$(dirname "$1")"
  cp "$1" "$copy/$1" 2> /dev/null || return 0
  local size=$(($(stat -c %s "$copy/$1") / 512 * 512 + 1536))
  if [ $size -gt $room ]; then
    rm "$copy/$1"
    return 1
  fi
  room=$((room - size))
}

for trained in */trained.json; do
  [ -e "$trained" ] || continue
  group=${trained%/*}
  new=()
  for file in "$group"/group-0/evaluation-*.npz; do # the last comes first: a runner at work plays the first
    if [ -e "$file" ] && ! grep -qxF "$file" "$taken"; then new=("$file" "${new[@]}"); fi
  done
  # The metrics come after the evaluations: what is played in between is in one of the two.
  if [ ${#new[@]} -eq 0 ] && grep -qxF "$group" "$taken"; then continue; fi
  reserved=$(($(cat "$group"/{work,clock,trained}.json "$group"/group-0/metrics.jsonl | wc -c) + 8192)) # tar has a head for each, and they may grow
  if [ $room -lt $reserved ]; then
    waiting=$((waiting + ${#new[@]}))
    continue
  fi
  room=$((room - reserved))
  for file in "${new[@]}"; do
    if take "$file"; then echo "$file" >> "$copy.taken"; else waiting=$((waiting + 1)); fi
  done
  room=$((room + reserved))
  for file in "$group"/{work,clock,trained}.json "$group"/group-0/metrics.jsonl; do take "$file"; done
  echo "$group" >> "$copy.taken"
done
if [ $waiting -gt 0 ] && ! grep -qs npz "$copy.taken"; then
  echo "an evaluation does not fit into $pieces x $bytes bytes, along with the group's metrics" >&2
  rm -f "$copy.taken"
  exit 1
fi
if [ ! -e "$copy.taken" ]; then
  echo "nothing is left to take"
  exit
fi
tar c -C "$copy" . | split -b "$bytes" - "$folder/left.tar."
cat "$copy.taken" >> "$taken"
rm "$copy.taken"
echo "took $(cd "$copy" && find . -name '*.npz' | wc -l) evaluations; $waiting wait for the next call"
