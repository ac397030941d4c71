"""What AntMaze data shows of the way from the evaluation's start to its goal: is there less of it where agents fail?

    python lab/tools/v1/route.py large-play large-diverse

Steps towards the goal: from a cell of the shortest path into the next one, by pairs of cells. Moving: more than 0.5 m
in the next second. Builds a set that is missing.
"""

import sys

import numpy as np

import rewind
from rewind.envs.mazes import find_maze
from rewind.rebuilt.point import Waypoints, distances
from rewind.table import table

CELL, AHEAD, METRES = 4.0, 10, 0.5


def route(kind):
    data = rewind.load(f"rewind/antmaze-{kind}-v1")
    maze = find_maze(kind.split("-")[0])
    position = np.asarray(data.observations[:, :2])
    trajectory = np.repeat(np.arange(len(data.lengths)), data.lengths)
    cells = np.clip(Waypoints(maze, CELL).cells(position), 0, np.array(maze.walls.shape) - 1)
    start, goal = tuple(maze.start), tuple(maze.goals[0])
    to_goal, from_start = distances(maze, goal), distances(maze, start)
    away = to_goal[tuple(cells.T)]
    on_path = away + from_start[tuple(cells.T)] == to_goal[start]
    follows = trajectory[1:] == trajectory[:-1]
    forward = follows & on_path[1:] & on_path[:-1] & (away[1:] == away[:-1] - 1)
    crossings = np.bincount(away[:-1][forward].astype(int))[1:]
    later = np.minimum(np.arange(len(position)) + AHEAD, len(position) - 1)
    inside = trajectory[later] == trajectory
    moving = np.linalg.norm(position[later] - position, axis=1)[inside] > METRES
    return {
        "set": kind,
        "steps towards the goal: fewest": crossings.min(),
        "median": f"{np.median(crossings):.0f}",
        "into the goal's cell": crossings[0],
        "rows that move": f"{moving.mean():.1%}",
        "rewarded rows": f"{(np.asarray(data.rewards) > 0).mean():.2%}",
        "rewarded trajectories": len(np.unique(trajectory[np.asarray(data.rewards) > 0])),
    }


if __name__ == "__main__":
    print(table([route(kind) for kind in sys.argv[1:]]))
