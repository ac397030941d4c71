#!/usr/bin/env bash
# Pack what Rewind needs on a GPU machine that has Python 3.12, NumPy and JAX but no package index:
#   lab/tools/pack_for_gpu.sh wheels-gpu/site.tar.xz      # here, about 50 MB with Numba
#   mkdir site && tar xf wheels-gpu/site.tar.xz -C site && export PYTHONPATH=src:lab/src:site      # there
set -euo pipefail
out=$(realpath -m "${1:?the archive to write, such as wheels-gpu/site.tar.xz}")
packages=(numba llvmlite mujoco mujoco-core gymnasium farama-notifications cloudpickle glfw pyopengl etils
  equinox optax jaxtyping wadler_lindig absl-py filelock tqdm tyro docstring_parser typeguard typing_extensions)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --only-binary=:all: --python-version 3.12 --no-deps -d "$work/wheels" "${packages[@]}"
mkdir "$work/site"
for wheel in "$work"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/site"; done
find "$work/site" -type d -name tests -prune -exec rm -rf {} +
strip --strip-unneeded "$work/site/llvmlite/binding/libllvmlite.so" 2>/dev/null || true  # a third of the archive
mkdir -p "$(dirname "$out")"
tar cf - -C "$work/site" . | xz -T0 -6 > "$out.part"
mv "$out.part" "$out"
du -h "$out"
