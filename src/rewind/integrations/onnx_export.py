"""Export a policy as an ONNX file, for runtimes without Python."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rewind.errors import require
from rewind.files import whole_file
from rewind.policy import Policy

OPSET, IR_VERSION = 17, 8  # of 2022, so that older runtimes can read it


def export_onnx(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Write a model from `observations` (rows, observation) to `actions` (rows, action), both float32."""
    onnx = require("onnx", "onnx")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    arrays, nodes = _graph(policy, helper.make_node)
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observations", floats, ["rows", policy.observation_size])],
        [helper.make_tensor_value_info("actions", floats, ["rows", policy.action_size])],
        [onnx.numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in arrays.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="rewind")
    onnx.checker.check_model(model)
    with whole_file(path) as temporary:
        onnx.save(model, str(temporary))


def _graph(policy: Policy, node: Any) -> tuple[dict[str, Any], list[Any]]:
    """The constants by name, and the operations in order."""
    arrays: dict[str, Any] = {"mean": policy.mean, "scale": policy.scale, "max_action": policy.max_action}
    nodes = [node("Sub", ["observations", "mean"], ["centred"]), node("Div", ["centred", "scale"], ["hidden_0"])]
    last = len(policy.weights) - 1
    for index, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        arrays |= {f"weight_{index}": weight, f"bias_{index}": bias}
        nodes.append(node("Gemm", [f"hidden_{index}", f"weight_{index}", f"bias_{index}"], [f"linear_{index}"]))
        if index < last:
            nodes.append(node("Relu", [f"linear_{index}"], [f"hidden_{index + 1}"]))
    nodes.append(node("Tanh", [f"linear_{last}"], ["squashed"]))
    nodes.append(node("Mul", ["squashed", "max_action"], ["actions"]))
    return arrays, nodes
