#!/usr/bin/env bash
# Pack what Rewind needs on a GPU machine that has Python 3.12, NumPy and JAX but no package index:
#   lab/tools/pack_for_gpu.sh wheels-gpu      # here: python.tar.xz and compiler.tar.xz, 26 and 38 MB
#   mkdir site && for archive in wheels-gpu/*.tar.xz; do tar xf $archive -C site; done; export PYTHONPATH=src:lab/src:site      # there
# Two, because only 64 MiB travel with a call and the working tree has 23 MB. Carry python.tar.xz with the first call: with it
# data can be built while the other travels.
set -euo pipefail
folder=$(realpath -m "${1:?the folder to write to, such as wheels-gpu}")
python=(equinox optax jaxtyping wadler_lindig absl-py tqdm tyro docstring_parser typeguard typing_extensions filelock
  mujoco==4.0.0 mujoco-core==4.0.0 gymnasium farama-notifications cloudpickle glfw pyopengl etils
  ogbench dm_control dm_env lxml gymnasium-robotics pettingzoo imageio packaging)
compiler=(numba llvmlite)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pack() { # NAME PACKAGES...
  local site=$work/$1/site wheel out=$folder/$1.tar.xz
  python3 -m pip download --quiet --only-binary=:all: --python-version 3.12 --no-deps -d "$work/$1/wheels" "${@:2}"
  mkdir "$site"
  for wheel in "$work/$1"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$site"; done
  find "$site" -type d -name tests -prune -exec rm -rf {} +
  # OGBench needs the model compiler of dm_control, not its robots, and of the robots that it brings not their pictures.
  find "$site" -path "$site/dm_control/*" -prune ! -name '*.py' \
    ! -name mjcf ! -name mujoco ! -name rl ! -name utils ! -name _render -exec rm -rf {} +
  rm -f "$site"/ogbench/manipspace/descriptions/*/*.png
  rm -rf "$site"/mujoco/{include,doc} "$site"/mujoco/*_test.py "$site"/lxml/{objectify*,isoschematron,includes}
  rm -rf "$site"/gymnasium_robotics/envs/assets/{kitchen_franka,stls}
  strip --strip-unneeded "$site/llvmlite/binding/libllvmlite.so" 2> /dev/null || true # a third of the archive
  tar cf - -C "$site" . | xz -T0 -8 > "$out.part"
  mv "$out.part" "$out"
  du -h "$out"
}

mkdir -p "$folder"
pack python "${python[@]}"
pack compiler "${compiler[@]}"
