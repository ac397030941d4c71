"""What a policy is worth: episodes in a simulator, or the data where there is none."""

from rewind.evaluation.diagnose import Diagnostics, diagnose
from rewind.evaluation.evaluate import Evaluation, Evaluator, evaluate
from rewind.evaluation.protocol import Curve, evaluation_steps, paper_score, scored_steps

__all__ = [
    "Curve",
    "Diagnostics",
    "Evaluation",
    "Evaluator",
    "diagnose",
    "evaluate",
    "evaluation_steps",
    "paper_score",
    "scored_steps",
]
