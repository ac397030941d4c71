"""Export a policy as an ONNX file, for runtimes without Python."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from rewind.errors import UsageError, require
from rewind.files import whole_file
from rewind.policy import Policy

OPSET, IR_VERSION = 17, 8  # of 2022, so that older runtimes can read it


def export_onnx(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Write a model from `observations` (rows, observation) to `actions` (rows, action), float32, or (rows,), int64.

    Its metadata has `action_low`, `action_high` (JSON lists), and, where they are known, `name` and `environment`.
    """
    path = Path(path)
    if path.suffix != ".onnx":
        raise UsageError(f"{path} does not end in .onnx")
    if not path.parent.is_dir():
        raise UsageError(f"no folder {path.parent}: make it first")
    onnx = require("onnx", "onnx")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    arrays, nodes = _graph(policy, helper.make_node)
    kind, width = (onnx.TensorProto.INT64, []) if policy.discrete else (floats, [policy.action_size])
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observations", floats, ["rows", policy.observation_size])],
        [helper.make_tensor_value_info("actions", kind, ["rows", *width])],
        [onnx.numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in arrays.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="rewind")
    about = {"name": policy.provenance.get("name"), "environment": policy.environment}
    about |= {name: json.dumps(getattr(policy, name).tolist()) for name in ("action_low", "action_high")}
    helper.set_model_props(model, {name: str(value) for name, value in about.items() if value is not None})
    onnx.checker.check_model(model)
    with whole_file(path) as temporary:
        onnx.save(model, str(temporary))


def _graph(policy: Policy, node: Any) -> tuple[dict[str, Any], list[Any]]:
    """The constants by name, and the operations in order."""
    arrays: dict[str, Any] = {"mean": policy.mean, "scale": policy.scale}
    arrays |= {"half_range": policy.half_range, "middle": policy.middle}
    nodes = [node("Sub", ["observations", "mean"], ["centred"]), node("Div", ["centred", "scale"], ["hidden_0"])]
    last = len(policy.weights) - 1
    for index, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        arrays |= {f"weight_{index}": weight, f"bias_{index}": bias}
        nodes.append(node("Gemm", [f"hidden_{index}", f"weight_{index}", f"bias_{index}"], [f"linear_{index}"]))
        if index < last:
            nodes.append(node("Relu", [f"linear_{index}"], [f"hidden_{index + 1}"]))
    if policy.discrete:
        return arrays, [*nodes, node("ArgMax", [f"linear_{last}"], ["actions"], axis=1, keepdims=0)]
    arrays |= {"least": np.float32(-1), "most": np.float32(1)}
    nodes.append(node("Tanh", [f"linear_{last}"], ["tanh"]))
    nodes.append(node("Clip", ["tanh", "least", "most"], ["squashed"]))  # a runtime's tanh may exceed 1 by a rounding
    nodes.append(node("Mul", ["squashed", "half_range"], ["stretched"]))
    nodes.append(node("Add", ["stretched", "middle"], ["actions"]))
    return arrays, nodes
