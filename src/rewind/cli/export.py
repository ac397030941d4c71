"""`rewind export`: write a trained policy as ONNX."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.errors import UsageError
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
    fallback: tuple[float, ...] | None = None
    """The action outside the training data, one number for each column or one for all. Without it, the policy acts
    everywhere."""
    limit: float | None = None
    """How far outside the data the fallback begins: 1, the default, is the edge of the data, 2 is twice as far."""
    clip: bool = False
    """Keep actions within those of the training data."""

    def run(self) -> None:
        if self.fallback == ():
            raise UsageError("--fallback is empty; expected the action outside the data, such as --fallback 0")
        if self.limit is not None and self.fallback is None:
            raise UsageError(
                f"--limit {self.limit:g} without --fallback guards nothing: add --fallback ACTION, or leave it out"
            )
        from rewind.integrations.onnx_export import export_onnx

        policy = load_policy(self.policy, clip=self.clip)
        limit = 1.0 if self.limit is None else self.limit
        guarded = GuardedPolicy(policy, self.fallback, limit) if self.fallback else policy
        export_onnx(guarded, self.onnx)
        low, high = (" ".join(f"{value:.4g}" for value in bound) for bound in policy.limits)
        kind = "(rows,), int64" if policy.discrete else f"(rows, {policy.action_size}), float32, from {low} to {high}"
        print(f"wrote {self.onnx}: observations (rows, {policy.observation_size}) -> actions {kind}")
        if self.fallback:
            print(f"and fell_back (rows,), where the action is {' '.join(f'{part:g}' for part in self.fallback)}")
        print("it acts as the policy does: compared by ONNX's own evaluator")
