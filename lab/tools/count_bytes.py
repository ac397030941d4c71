"""How many bytes an update of fused networks moves, on a machine without a GPU:

    pip install 'jax[cuda13]'; python lab/tools/count_bytes.py [RUNS [STEPS]]

Compiles a training block for an H200, which JAX can do from a description of the device, and adds what the kernels of
the innermost loop read and write. Divided by the memory's bandwidth that is the least time of an update of all runs
together. What one kernel leaves in the cache for the next is counted too. Names of kernels are those that
profile_kernels.py prints, so both together say which kernels waste time.
"""

import os
import re
import sys
from collections import defaultdict
from math import prod

os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"  # there is no driver either

import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

from rewind.agents import AGENTS
from rewind.agents.networks import fused_networks
from rewind.training.engine import _programs
from rewind.training.view import DeviceTable

BANDWIDTH = 4.3e12  # bytes a second, read and written: what a large copy on an H200 reaches
OBSERVATION, ACTION, ROWS, BATCH = 29, 8, 1_000_000, 256  # an ant's
NETWORKS = {
    "TD3+BC": ("td3_bc", {}),
    "TD3+BC, layer norm": ("td3_bc", {"layer_norm": True}),
    "IQL": ("iql", {}),
    "ReBRAC": ("rebrac", {"layer_norm": True, "hidden": (256, 256, 256)}),
}
H200 = """
platform_name: "CUDA"
device_description_str: "NVIDIA H200"
dnn_version_info { major: 9 minor: 8 patch: 0 }
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  shared_memory_per_block: 49152 shared_memory_per_core: 233472 shared_memory_per_block_optin: 232448
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  memory_bandwidth: 4800000000000 l2_cache_size: 62914560 clock_rate_ghz: 1.98 device_memory_size: 150754820096
  cuda_compute_capability { major: 9 minor: 0 }
}
"""
SIZES = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "pred": 1, "s64": 8, "u64": 8}  # bytes
UNROLLED = 4  # updates in the body of the loop (rewind.training.engine)
MOST = 10  # kinds of kernels that are named
FREE = {"parameter", "get-tuple-element", "tuple", "constant", "bitcast", "while"}  # no kernels
LINE = re.compile(r"^\s+(?:ROOT )?%([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*)$")
Line = tuple[str, str, str, str]  # an instruction: its name, shape, kind and all that follows


def compiled(kind, settings, runs, steps):
    """The program of a block, as text."""
    device = topologies.get_topology_desc("", "cuda", topology="1x1x1", target_config=H200).devices[0]
    there = SingleDeviceSharding(device)
    agent = AGENTS[kind](observation_size=OBSERVATION, action_size=ACTION, **settings)
    agents = jax.tree.map(lambda leaf: jnp.stack([leaf] * runs), agent)
    init, train, _ = _programs(type(agent), BATCH, (), runs == 1, False, True)
    keys = jnp.zeros((runs, 2), jnp.uint32)
    table = DeviceTable(jnp.zeros((1, 2 * OBSERVATION + ACTION + 2)))
    plan = jax.ShapeDtypeStruct((runs, steps, BATCH), jnp.int32), jax.ShapeDtypeStruct((runs, steps, BATCH), bool)
    given = agents, jax.eval_shape(init, agents, keys), jnp.ones(runs, bool), table, jnp.zeros(runs, jnp.int32), *plan
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=there), given)
    with fused_networks(True):
        text = train.trace(*shapes).lower(lowering_platforms=("cuda",)).compile().as_text()
    return re.sub(r"/\*index=\d+\*/", "", text)


def functions(text: str) -> dict[str, list[Line]]:
    found, lines = {}, None
    for line in text.splitlines():
        if begins := re.match(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{\s*$", line):
            lines = found[begins[1]] = []
        elif lines is not None and (parts := LINE.match(line)):
            lines.append(parts.groups())
    return found


def size(shape: str) -> int:
    found = re.findall(rf"\b({'|'.join(SIZES)})\[([\d,]*)\]", shape)
    return sum(SIZES[kind] * prod(map(int, filter(None, sides.split(",")))) for kind, sides in found)


def used(lines: list[Line], name: str, shape: str) -> int:
    """What a kernel reads of one of its arguments: all of it, or the slices that it takes."""
    users = [(kind, size(made)) for _, made, kind, rest in lines if re.search(rf"%{re.escape(name)}\b", rest)]
    sliced = users and all(kind in {"dynamic-slice", "slice", "gather"} for kind, _ in users)
    return min(size(shape), sum(made for _, made in users)) if sliced else size(shape)


def moved(line: Line, every: dict[str, list[Line]], shapes: dict[str, str]) -> int:
    """Bytes that a kernel reads and writes."""
    _, shape, kind, rest = line
    if kind == "fusion":
        inner = every[re.search(r"calls=%([\w.\-]+)", rest)[1]]
        return size(shape) + sum(used(inner, name, own) for name, own, kind, _ in inner if kind == "parameter")
    return size(shape) + sum(size(shapes.get(given, "")) for given in re.findall(r"%([\w.\-]+)", rest.split("), ")[0]))


def by_kernel(text: str) -> dict[str, tuple[int, int]]:
    """Of the innermost loop, by kind of kernel: how many there are, and their bytes."""
    every = functions(text)
    bodies = [every[name] for name in re.findall(r"body=%([\w.\-]+)", text)]
    body = max((lines for lines in bodies if not any(kind == "while" for _, _, kind, _ in lines)), key=len)
    shapes, found = {name: shape for name, shape, _, _ in body}, defaultdict(lambda: (0, 0))
    for line in body:
        if line[2] not in FREE:
            named = re.search(r"mlp_(forward|through|backward)", line[3]) if line[2] == "custom-call" else None
            kind = named[0] if named else re.sub(r"[.\d]+$", "", line[0])
            found[kind] = found[kind][0] + 1, found[kind][1] + moved(line, every, shapes)
    return dict(found)


def main() -> None:
    given = [int(word) for word in sys.argv[1:3]]
    runs, steps = [*given, *(60, 100)[len(given) :]]
    jax.default_backend = lambda: "gpu"  # kernels, not their interpreter
    for name, (agent, settings) in NETWORKS.items():
        updates = runs * UNROLLED * AGENTS[agent](observation_size=1, action_size=1).period
        found = by_kernel(compiled(agent, settings, runs, steps))
        total = sum(count for _, count in found.values())
        print(f"\n{name}: {total / updates / 1e6:.1f} MB a run and update, {total / updates / BANDWIDTH * 1e6:.1f} us")
        for kernel, (number, count) in sorted(found.items(), key=lambda item: -item[1][1])[:MOST]:
            print(f"{count / total:6.0%}  {number:3} x {kernel}", flush=True)


if __name__ == "__main__":
    main()
