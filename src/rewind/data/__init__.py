"""Where trajectories come from."""

from rewind.data.boundaries import from_d4rl
from rewind.data.episodes import from_episodes
from rewind.data.load import load
from rewind.data.npz import load_npz, save_npz
from rewind.data.trajectories import Trajectories

__all__ = ["Trajectories", "from_d4rl", "from_episodes", "load", "load_npz", "save_npz"]
