"""The maps, and what is read off them."""

import numpy as np
import pytest

from rewind.envs.mazes import MAZES, Maze, find_maze
from rewind.errors import DataError, UsageError


@pytest.mark.parametrize(("name", "goal"), [("umaze", (0, 8)), ("medium", (20, 20)), ("large", (32, 24))])
def test_evaluation_maps_have_one_goal(name, goal):
    maze = MAZES[name]
    np.testing.assert_array_equal(maze.centres(maze.goals, 4.0), [goal])
    np.testing.assert_array_equal(maze.centres(maze.start, 4.0), [0, 0])


@pytest.mark.parametrize(("name", "goals"), [("medium", 3), ("large", 7)])
def test_data_maps_have_the_same_walls_and_several_goals(name, goals):
    np.testing.assert_array_equal(MAZES[name].walls, MAZES[f"{name}-data"].walls)
    assert len(MAZES[f"{name}-data"].goals) == goals


@pytest.mark.parametrize("maze", MAZES.values(), ids=MAZES)
def test_every_goal_can_be_reached_from_every_free_cell(maze):
    reached, border = {tuple(maze.start)}, [tuple(maze.start)]
    while border:
        row, column = border.pop()
        for cell in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if not maze.walls[cell] and cell not in reached:
                reached.add(cell)
                border.append(cell)
    assert len(reached) == (~maze.walls).sum() == len(maze.free) + len(maze.goals)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("###", "#R#", "###"), "goal"),
        (("####", "#RG", "####"), "equal length"),
        (("####", "#RG.", "####"), "border"),
        (("####", "#XG#", "####"), "'#'"),
    ],
)
def test_a_map_that_is_no_maze_is_refused(rows, message):
    with pytest.raises(DataError, match=message):
        Maze("own", rows)


def test_an_unknown_maze_names_the_nearest():
    with pytest.raises(UsageError, match="'medium'"):
        find_maze("mediun")
