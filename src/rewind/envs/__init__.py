"""Where policies are tried. Importing it makes Rewind's environments known to Gymnasium, where that is installed."""

from importlib.util import find_spec

from rewind.envs.display import choose_renderer
from rewind.envs.evaluate import Evaluation, Evaluator, evaluate
from rewind.envs.make import make
from rewind.envs.offline import Diagnostics, diagnose
from rewind.envs.protocol import PaperScore, evaluation_steps, paper_score, scored_steps

choose_renderer()
if find_spec("gymnasium"):
    from rewind.envs.register import register

    register()

__all__ = [
    "Diagnostics",
    "Evaluation",
    "Evaluator",
    "PaperScore",
    "diagnose",
    "evaluate",
    "evaluation_steps",
    "make",
    "paper_score",
    "scored_steps",
]
