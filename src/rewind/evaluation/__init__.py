"""What a policy is worth: episodes in a simulator, or the data where there is none."""

from rewind.evaluation.diagnose import Diagnostics, diagnose
from rewind.evaluation.evaluate import Evaluation, Evaluator, evaluate
from rewind.evaluation.protocol import PaperScore, evaluation_steps, paper_score, scored_steps

__all__ = [
    "Diagnostics",
    "Evaluation",
    "Evaluator",
    "PaperScore",
    "diagnose",
    "evaluate",
    "evaluation_steps",
    "paper_score",
    "scored_steps",
]
