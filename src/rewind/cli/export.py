"""`rewind export`: write a trained policy as ONNX."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.guard import GuardedPolicy
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
    fallback: tuple[float, ...] = ()
    """The action outside the training data, one number for each column or one for all. Without it, the policy acts
    everywhere."""
    limit: float = 1.0
    """How far outside the data the fallback begins: 1 is the edge of the data, 2 is twice as far."""
    clip: bool = False
    """Keep actions within those of the training data."""

    def run(self) -> None:
        from rewind.integrations.onnx_export import export_onnx

        policy = load_policy(self.policy, clip=self.clip)
        guarded = GuardedPolicy(policy, self.fallback, self.limit) if self.fallback else policy
        export_onnx(guarded, self.onnx)
        low, high = (" ".join(f"{value:.4g}" for value in bound) for bound in policy.limits)
        kind = "(rows,), int64" if policy.discrete else f"(rows, {policy.action_size}), float32, from {low} to {high}"
        print(f"wrote {self.onnx}: observations (rows, {policy.observation_size}) -> actions {kind}")
        if self.fallback:
            print(f"and fell_back (rows,), where the action is {' '.join(f'{part:g}' for part in self.fallback)}")
        print("it acts as the policy does: compared by ONNX's own evaluator")
