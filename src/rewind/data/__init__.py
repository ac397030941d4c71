"""Logged data as `Trajectories`: readers and writers, checks, and the catalogue of published files."""

from rewind.data.boundaries import from_d4rl
from rewind.data.convert import convert
from rewind.data.episodes import from_episodes, from_steps
from rewind.data.hdf5 import load_hdf5, save_hdf5
from rewind.data.load import load
from rewind.data.minari_sets import load_minari, save_minari
from rewind.data.npz import load_npz, save_npz
from rewind.data.trajectories import Trajectories

__all__ = [
    "Trajectories",
    "convert",
    "from_d4rl",
    "from_episodes",
    "from_steps",
    "load",
    "load_hdf5",
    "load_minari",
    "load_npz",
    "save_hdf5",
    "save_minari",
    "save_npz",
]
