#!/usr/bin/env bash
# Pack what Rewind needs on a GPU machine that has Python 3.12, NumPy and JAX but no package index:
#   lab/tools/pack_for_gpu.sh wheels-gpu/site.tar.xz      # here, about 57 MB with Numba and OGBench
#   lab/tools/pack_for_gpu.sh wheels-gpu/adroit.tar.xz gymnasium-robotics pettingzoo imageio packaging      # 12 MB, for Adroit
#   mkdir site && tar xf wheels-gpu/site.tar.xz -C site && export PYTHONPATH=src:lab/src:site      # there
# Where only 64 MiB travel, hide from the working tree what a training does not need, and show it again afterwards:
#   git sparse-checkout set --no-cone /src/ '!/src/rewind/rebuilt/policies/*-replay-*' /lab/src/ /lab/tools/ /lab/results/evidence/
#   git sparse-checkout disable
set -euo pipefail
out=$(realpath -m "${1:?the archive to write, such as wheels-gpu/site.tar.xz}")
packages=(numba llvmlite mujoco==4.0.0 mujoco-core==4.0.0 gymnasium farama-notifications cloudpickle glfw pyopengl etils
  equinox optax jaxtyping wadler_lindig absl-py filelock tqdm tyro docstring_parser typeguard typing_extensions
  ogbench dm_control dm_env lxml)
if [ $# -gt 1 ]; then packages=("${@:2}"); fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --only-binary=:all: --python-version 3.12 --no-deps -d "$work/wheels" "${packages[@]}"
mkdir "$work/site"
for wheel in "$work"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/site"; done
find "$work/site" -type d -name tests -prune -exec rm -rf {} +
# OGBench needs the model compiler of dm_control, not its robots, and of the robots that it brings not their pictures.
find "$work"/site -path "$work/site/dm_control/*" -prune ! -name '*.py' \
  ! -name mjcf ! -name mujoco ! -name rl ! -name utils ! -name _render -exec rm -rf {} +
rm -f "$work"/site/ogbench/manipspace/descriptions/*/*.png
rm -rf "$work"/site/mujoco/{include,doc} "$work"/site/mujoco/*_test.py "$work"/site/lxml/{objectify*,isoschematron,includes}
rm -rf "$work"/site/gymnasium_robotics/envs/assets/{kitchen_franka,stls}
strip --strip-unneeded "$work/site/llvmlite/binding/libllvmlite.so" 2>/dev/null || true  # a third of the archive
mkdir -p "$(dirname "$out")"
tar cf - -C "$work/site" . | xz -T0 -8 > "$out.part"
mv "$out.part" "$out"
du -h "$out"
