"""Small data and small agents, for the tests of training."""

import numpy as np

from tests.helpers import make

DATA = make(np.random.default_rng(0).integers(5, 25, 40), terminated=0.5, known=1.0)
SMALL = {"hidden": (16, 16)}
QUIET = {"progress": False, "batch_size": 8}
