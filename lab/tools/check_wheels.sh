#!/usr/bin/env bash
# Builds the library's source distribution and both wheels, and checks them: metadata (twine), contents (no tests, results
# or tools), one version. Then tries the library's wheel in an empty environment: NumPy comes with it and nothing else,
# `import rewind` takes at most about twice the time of `import numpy`, and `rewind paper` says that it needs the lab.
# Last, `import rewind_lab` beside it. Keeps what it built in the folder that is given.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dist=${1:-$folder/dist}

"${PYTHON:-python3}" -m venv "$folder/tools"
"$folder/tools/bin/pip" install --quiet build twine
"$folder/tools/bin/python" -m build --outdir "$dist" .
"$folder/tools/bin/python" -m build --wheel --outdir "$dist" lab
"$folder/tools/bin/twine" check --strict "$dist"/*

for file in "$dist"/*; do
  case $file in
    *.whl) "${PYTHON:-python3}" -m zipfile -l "$file" ;;
    *) tar -tzf "$file" ;;
  esac > "$folder/files"
  echo "$(basename "$file"): $(du -k "$file" | cut -f1) KiB, $(wc -l < "$folder/files") files"
  awk '{print $1}' "$folder/files" | cut -d/ -f1-2 | sort | uniq -c
  if grep -E '(^|/)(tests|results|tools)/|\.parquet' "$folder/files"; then echo "these do not belong there"; exit 1; fi
done

"${PYTHON:-python3}" -m venv "$folder/env"
bin=$folder/env/bin
library=$(echo "$dist"/rewind_rl-*.whl)
lab=$(echo "$dist"/rewind_lab-*.whl)
"$bin/pip" install --quiet "$library"
"$bin/pip" list --format freeze | grep -vE '^(pip|setuptools)='
"$bin/python" lab/tools/import_time.py
"$bin/pip" install --quiet "$library[cli]"
answer=$("$bin/rewind" paper 2>&1) && exit 1
echo "$answer"
[ "$(wc -l <<< "$answer")" = 1 ]
"$bin/pip" install --quiet --no-deps "$lab"
"$bin/python" -c 'import rewind, rewind_lab, importlib.metadata as m; assert m.version("rewind-lab") == m.version("rewind-rl") == rewind.__version__'
echo "both wheels: $("$bin/rewind" --version)"
