"""Export a policy, guarded or not, as an ONNX file, for runtimes without Python."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import RewindError, UsageError, require
from rewind.files import whole_file
from rewind.guard import RULE, GuardedPolicy
from rewind.policy import Policy, mlp

OPSET, IR_VERSION = 17, 8  # of 2022, so that older runtimes can read it
PROBES, NEAR = 256, 1e-4  # random observations, and how far the model may differ, relative to the range of actions
BOUNDS = ("action_low", "action_high")


def export_onnx(policy: Policy | GuardedPolicy, path: str | os.PathLike[str]) -> None:
    """Write a model from `observations` (rows, observation) to `actions` (rows, action), float32, or (rows,), int64.

    That of a guarded policy also gives `fell_back` (rows,), true where the action is the fallback's.
    Its metadata has `action_low`, `action_high` (JSON lists), and, where they are known, `name`, `environment`, how it
    was trained (`provenance`, JSON), and the guard's `guard`, `limit` and `fallback`.
    Before it is written, ONNX's own evaluator computes it and it is compared with the policy.
    """
    path = Path(path)
    if path.suffix != ".onnx":
        raise UsageError(f"{path} does not end in .onnx")
    if not path.parent.is_dir():
        raise UsageError(f"no folder {path.parent}: make it first")
    onnx = require("onnx", "onnx")
    guard = policy if isinstance(policy, GuardedPolicy) else None
    bare = policy if isinstance(policy, Policy) else policy.policy
    if not isinstance(bare, Policy) or (guard and callable(guard.fallback)):
        raise UsageError("a model holds one policy: expected a saved policy, and an action as its fallback")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    arrays, nodes = _graph(bare, helper.make_node)
    if guard:
        arrays |= _guard(guard, bare, nodes, onnx)
    kind, shape = (onnx.TensorProto.INT64, ["rows"]) if bare.discrete else (floats, ["rows", bare.action_size])
    described = helper.make_tensor_value_info
    outputs = [described("actions", kind, shape), described("fell_back", onnx.TensorProto.BOOL, ["rows"])]
    graph = helper.make_graph(
        nodes,
        "policy",
        [described("observations", floats, ["rows", bare.observation_size])],
        outputs if guard else outputs[:1],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="rewind")
    helper.set_model_props(model, _metadata(bare, guard))
    onnx.checker.check_model(model)
    _verify(model, bare, guard)
    with whole_file(path) as temporary:
        onnx.save(model, str(temporary))


def _metadata(policy: Policy, guard: GuardedPolicy | None) -> dict[str, str]:
    named = {"name": policy.provenance.get("name"), "environment": policy.environment}
    about = {name: str(value) for name, value in named.items() if value is not None}
    about |= {name: json.dumps(bound.tolist()) for name, bound in zip(BOUNDS, policy.limits, strict=True)}
    trained = {name: value for name, value in policy.provenance.items() if name not in named}
    if trained:
        about["provenance"] = json.dumps(trained)
    if guard:
        about |= {"guard": RULE if guard.limit else "not finite", "limit": json.dumps(guard.limit)}
        about["fallback"] = json.dumps(_fallback(guard, policy).tolist())
    return about


def _graph(policy: Policy, node: Any) -> tuple[dict[str, Any], list[Any]]:
    """The constants by name, and the operations in order; the last one makes `actions`."""
    arrays: dict[str, Any] = {"mean": policy.mean, "scale": policy.scale}
    nodes = [node("Sub", ["observations", "mean"], ["centred"]), node("Div", ["centred", "scale"], ["hidden_0"])]
    last = len(policy.weights) - 1
    for index, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        arrays |= {f"weight_{index}": weight, f"bias_{index}": bias}
        nodes.append(node("Gemm", [f"hidden_{index}", f"weight_{index}", f"bias_{index}"], [f"linear_{index}"]))
        if index < last:
            nodes.append(node("Relu", [f"linear_{index}"], [f"hidden_{index + 1}"]))
    if policy.discrete:
        arrays["penalty"] = policy.penalty
        nodes.append(node("Add", [f"linear_{last}", "penalty"], ["values"]))
        return arrays, [*nodes, node("ArgMax", ["values"], ["actions"], axis=1, keepdims=0)]
    low, high = policy.limits
    arrays |= {"half_range": policy.half_range, "middle": policy.middle, "low": low, "high": high}
    nodes.append(node("Tanh", [f"linear_{last}"], ["tanh"]))
    nodes.append(node("Mul", ["tanh", "half_range"], ["stretched"]))
    nodes.append(node("Add", ["stretched", "middle"], ["moved"]))
    # A runtime's tanh may exceed 1 by a rounding: bounds are kept here, clipped or not.
    nodes.append(node("Max", ["moved", "low"], ["raised"]))
    nodes.append(node("Min", ["raised", "high"], ["actions"]))
    return {name: np.array(array, np.float32) for name, array in arrays.items()}, nodes


def _guard(guard: GuardedPolicy, policy: Policy, nodes: list[Any], onnx: Any) -> dict[str, Any]:
    """The constants of the guard; its operations go behind the policy's, whose actions become `own`.

    What is inside is asked for, never what is outside: a comparison with NaN is false.
    """
    node, integers, truths = onnx.helper.make_node, onnx.TensorProto.INT32, onnx.TensorProto.BOOL
    nodes[-1].output[0] = "own"
    nodes += [
        node("Sub", ["observations", "data_middle"], ["off"]),
        node("Abs", ["off"], ["away"]),
        node("LessOrEqual", ["away", "data_reach"], ["columns"]),
        node("Cast", ["columns"], ["counted"], to=integers),
        node("ReduceMin", ["counted"], ["least"], axes=[1], keepdims=0),
        node("Cast", ["least"], ["in_range"], to=truths),
        node("Sub", ["observations", "data_mean"], ["from_mean"]),
        node("Div", ["from_mean", "data_scale"], ["scaled"]),
        node("MatMul", ["scaled", "data_whiten"], ["white"]),
        node("ReduceL2", ["white"], ["distance"], axes=[1], keepdims=0),
        node("LessOrEqual", ["distance", "data_limit"], ["near"]),
        node("And", ["in_range", "near"], ["inside"]),
        node("Not", ["inside"], ["fell_back"]),
        *([] if policy.discrete else [node("Unsqueeze", ["fell_back", "last_axis"], ["of_each_column"])]),
        node("Where", ["fell_back" if policy.discrete else "of_each_column", "fallback", "own"], ["actions"]),
    ]
    axis = {} if policy.discrete else {"last_axis": np.array([1], np.int64)}
    return _rule(policy, guard.limit) | {"fallback": _fallback(guard, policy)} | axis


def _fallback(guard: GuardedPolicy, policy: Policy) -> Array:
    """One action."""
    kind, shape = (np.int64, ()) if policy.discrete else (np.float32, (policy.action_size,))
    return np.broadcast_to(np.squeeze(np.asarray(guard.fallback, kind)), shape)


def _rule(policy: Policy, limit: float | None) -> dict[str, Any]:
    """The constants of the rule, with the limit in them; without a limit, every finite number passes."""
    support, size = policy.support, policy.observation_size
    if limit is None or support is None:
        flat, most = np.zeros(size), np.full(size, np.finfo(np.float32).max)
        rule: dict[str, Any] = {"middle": flat, "reach": most, "mean": flat, "scale": flat + 1, "limit": 1}
        rule["whiten"] = np.zeros((size, 1))
    else:
        rule = {"middle": support.middle, "reach": support.reach * limit, "limit": support.limit * limit}
        rule |= {"mean": support.mean, "scale": support.scale, "whiten": support.whiten}
    return {f"data_{name}": np.asarray(array, np.float32) for name, array in rule.items()}


def _verify(model: Any, policy: Policy, guard: GuardedPolicy | None) -> None:
    """Compare the model with the policy, on observations near its data and far away."""
    reference = require("onnx.reference", "onnx").ReferenceEvaluator(model)
    noise = np.random.default_rng(0).standard_normal((PROBES, policy.observation_size))
    probes = (noise * np.geomspace(0.1, 10, PROBES)[:, None] * policy.scale + policy.mean).astype(np.float32)
    if guard:
        probes[-1, 0] = np.nan
    acted, *fell_back = reference.run(None, {"observations": probes})
    expected, sure = policy(probes[:-1] if guard else probes), np.ones(PROBES, bool)
    if policy.discrete:  # two values that are equal but for rounding decide nothing
        values = np.sort(mlp((probes - policy.mean) / policy.scale, policy.weights, policy.biases), axis=1)
        sure = values[:, -1] - values[:, -2] > NEAR * np.abs(values).max(1) if policy.action_size > 1 else sure
    if guard:
        sure[-1] = True
        expected, outside = guard.act(probes)
        if guard.limit is not None and policy.support is not None:
            sure &= np.abs(policy.support.novelty(probes) / guard.limit - 1) > NEAR
        if not np.array_equal(fell_back[0][sure], outside[sure]):
            raise RewindError("the ONNX model falls back elsewhere than the policy: this is a bug, please report it")
    near = NEAR * np.maximum(policy.half_range, 1e-6) + 1e-6 * np.abs(policy.middle)
    wrong = acted != expected if policy.discrete else (np.abs(acted - expected) > near).any(1)
    if wrong[sure].any():
        raise RewindError("the ONNX model does not act as the policy: this is a bug, please report it")
