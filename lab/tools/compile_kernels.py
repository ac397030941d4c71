"""Whether the fused kernels fit a GPU, on a machine without one:

    pip install triton; python lab/tools/compile_kernels.py

Lowers the kernels of typical networks as JAX does for CUDA, compiles them with Triton for an H100 or H200, and prints
the shared memory and the registers that each takes. A kernel with more shared memory than there is fails on the GPU,
one that spills registers is slow. JAX brings a Triton of its own, whose figures differ a little. Uses insides of JAX.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import triton
from check_kernels import NETWORKS, ROWS
from jax._src.pallas.triton import lowering
from triton.backends.compiler import GPUTarget

from rewind.agents.networks import MLP, fused_networks

SHARED = 232_448  # bytes of a program, at most
STAGES = 2
DERIVATIVES = {"forward": None, "parameters": 0, "inputs": 1}


class Lowered:
    """Catches what Pallas hands to the compiler: Triton's intermediate language, and how many warps run it."""

    def __init__(self):
        self.kernels = []
        lower = lowering.lower_jaxpr_to_triton_module

        def caught(*arguments, **named):
            result = lower(*arguments, **named)
            self.kernels.append(result.module.operation.get_asm(enable_debug_info=False))
            return result

        lowering.lower_jaxpr_to_triton_module = caught

    def of(self, kind, wanted):
        sizes, ensemble, norm = kind
        self.kernels.clear()

        def loss(net, x):
            with fused_networks(True):
                return jnp.sin(net(x)).sum()

        net = MLP(jax.random.key(0), sizes, ensemble=ensemble, layer_norm=norm)
        function = loss if wanted is None else jax.grad(loss, wanted)
        lowered = jax.jit(function).trace(net, jnp.ones((ROWS, sizes[0]))).lower(lowering_platforms=("cuda",))
        warps = [int(found) for found in re.findall(r"num_warps = (\d+)", lowered.as_text())]
        return list(zip(self.kernels, warps, strict=True))


def compiled(kernel, warps, folder):
    """Bytes of shared memory, registers of a thread, and bytes that spill out of them."""
    (folder / "kernel.ttir").write_text(kernel)
    target, options = GPUTarget("cuda", 90, 32), {"num_warps": warps, "num_stages": STAGES}
    made = triton.compile(str(folder / "kernel.ttir"), target=target, options=options)
    (folder / "kernel.cubin").write_bytes(made.asm["cubin"])
    tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    told = subprocess.run([tools / "cuobjdump", "-res-usage", folder / "kernel.cubin"], capture_output=True, text=True)
    registers, stack = (re.search(rf"{name}:(\d+)", told.stdout) for name in ("REG", "STACK"))
    return made.metadata.shared, registers and int(registers[1]), stack and int(stack[1])


def main():
    jax.default_backend = lambda: "gpu"  # kernels, not their interpreter
    lowered, worst = Lowered(), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in NETWORKS.items():
            for derivative, wanted in DERIVATIVES.items():
                for kernel, warps in lowered.of(kind, wanted):
                    function = re.search(r"@(mlp_\w+)", kernel)[1]
                    shared, registers, stack = compiled(kernel, warps, Path(folder))
                    taken = f"{shared:7} bytes, {registers} registers, {stack} spilt"
                    print(f"{name:28} {derivative:10} {function:12} {taken}")
                    worst = max(worst, shared)
    sys.exit(f"expected at most {SHARED} bytes of shared memory" if worst > SHARED else 0)


if __name__ == "__main__":
    main()
