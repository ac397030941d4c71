#!/usr/bin/env bash
# What trained groups have left to play, in pieces small enough to be brought home from a borrowed machine:
#   tools/take_evaluations.sh RESULTS FOLDER [PIECES [BYTES]]      there; what was taken before is left out
#   cat FOLDER/left.tar.* | tar x -C results/paper/work            at home, after each call
#   rewind paper finish                                            at home, after the last
set -euo pipefail
results=${1:?folder of results} folder=${2:?folder for the pieces} pieces=${3:-7} bytes=${4:-16000000}
work=$(realpath "$results")/work
mkdir -p "$folder"
folder=$(realpath "$folder") taken=$work/taken
touch "$taken"
cd "$work"
room=$((pieces * bytes - 10240)) # tar's own end
list=()
for trained in */trained.json; do
  [ -e "$trained" ] || continue
  group=${trained%/*}
  for file in "$group"/{work,clock,trained}.json "$group"/group-0/metrics.jsonl "$group"/group-0/evaluation-*.npz; do
    if [ ! -e "$file" ]; then continue; fi
    if [ "${file##*.}" = npz ] && grep -qx "$file" "$taken"; then continue; fi # the rest is small, and may have grown
    size=$(($(stat -c %s "$file") / 512 * 512 + 1536))
    if [ $size -gt $room ]; then continue; fi
    room=$((room - size)) && list+=("$file")
  done
done
if [ ${#list[@]} -eq 0 ]; then
  echo "nothing is left to take"
  exit
fi
tar c "${list[@]}" | split -b "$bytes" - "$folder/left.tar."
printf '%s\n' "${list[@]}" >> "$taken"
echo "took ${#list[@]} files: ${list[*]}"
