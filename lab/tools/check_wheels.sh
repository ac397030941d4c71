#!/usr/bin/env bash
# Builds both wheels and tries the library's in an empty environment: NumPy comes with it and nothing else, `import
# rewind` takes at most about twice the time of `import numpy`, and `rewind paper` says that it needs the lab.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"${PYTHON:-python3}" -m venv "$folder/env"
bin=$folder/env/bin
"$bin/pip" wheel --quiet --no-deps --wheel-dir "$folder" . ./lab
for wheel in "$folder"/*.whl; do
  echo "$(basename "$wheel"): $(du -k "$wheel" | cut -f1) KiB"
  "$bin/python" -m zipfile -l "$wheel" > "$folder/files"
  if grep -E '(^|/)(tests|results|tools)/|\.parquet' "$folder/files"; then echo "these do not belong there"; exit 1; fi
done
library=$(echo "$folder"/rewind_rl-*.whl)
"$bin/pip" install --quiet "$library"
"$bin/pip" list --format freeze | grep -vE '^(pip|setuptools)='
"$bin/python" lab/tools/import_time.py
"$bin/pip" install --quiet "$library[cli]"
answer=$("$bin/rewind" paper 2>&1) && exit 1
echo "$answer"
[ "$(wc -l <<< "$answer")" = 1 ]
