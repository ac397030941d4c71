"""`rewind export`: write a trained policy as ONNX."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.policy import load_policy


@dataclass
class Export:
    """Write a trained policy as ONNX, for other programs.

    Example: rewind export runs/mine/policies/000 --onnx policy.onnx
    """

    policy: Positional[Path]
    """Folder of the policy, such as runs/mine/policies/000."""
    onnx: Path
    """The ONNX file to write."""

    def run(self) -> None:
        from rewind.integrations.onnx_export import export_onnx

        policy = load_policy(self.policy)
        export_onnx(policy, self.onnx)
        low, high = policy.action_low.tolist(), policy.action_high.tolist()
        print(f"wrote {self.onnx}: observations (rows, {policy.observation_size}) -> ", end="")
        print(f"actions (rows, {policy.action_size}), float32, from {low} to {high}")
