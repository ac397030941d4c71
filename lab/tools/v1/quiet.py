"""Data of a medium policy with less noise in its actions: does what agents learn rest on that noise?

    python lab/tools/v1/quiet.py rewind/hopper-medium-v1 --noise 0.1 --size 1000000 --out quiet.npz
    rewind train --dataset quiet.npz --env Hopper-v4 --algorithm iql --samplers baseline --seeds 0 1

--noise 1 gives the data set itself. Prints the mean score and its spread over episodes.
"""

import argparse
from importlib import resources

import numpy as np

from rewind.data.catalogue import known_entry, normalised_score
from rewind.data.npz import save_npz
from rewind.rebuilt.collect import join, play, to_trajectories
from rewind.rebuilt.players import find_player
from rewind.rebuilt.recipes import find_recipe


class Quiet:
    """A player whose policy's random numbers are smaller."""

    def __init__(self, player, noise):
        self.player, self.noise, self.env = player, noise, player.env

    def prepare(self, streams, horizon):
        self.player.prepare(streams, horizon)
        self.player._noise = self.player._noise * np.float32(self.noise)

    def act(self, step, observations):
        return self.player.act(step, observations)


def quiet(name, noise, size):
    recipe = find_recipe(name)
    policy = resources.files("rewind.rebuilt") / "policies" / f"{recipe.policies[0]}.npz"
    player, parts = Quiet(find_player(recipe, policy), noise), []
    while (rows := sum(part.rows for part in parts)) < size:
        print(f"{rows:,} of {size:,} rows", flush=True)
        parts.append(play(player, recipe, seed=0, part=0, chunk=len(parts)))
    return to_trajectories(join(parts).cut(size), recipe, {"noise": noise})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    data = quiet(asked.name, asked.noise, asked.size)
    save_npz(data, asked.out)
    scores = normalised_score(known_entry(asked.name).name, data.returns)
    print(f"noise {asked.noise:g}: {len(scores):,} episodes, mean score {scores.mean():.1f} ± {scores.std():.1f}")
