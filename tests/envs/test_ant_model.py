"""The ant's model has D4RL's numbers."""

import math

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("mujoco.batch")

import mujoco

from rewind.envs.ant_model import ant_maze_xml
from rewind.envs.mazes import MAZES

LEGS = {1: (1, 1), 2: (-1, 1), 3: (-1, -1), 4: (1, -1)}
LENGTHS = {"aux": 0.2, "thigh": 0.2, "shin": 0.4}


@pytest.fixture(scope="module", params=["umaze", "medium", "large"])
def maze(request):
    return MAZES[request.param]


@pytest.fixture(scope="module")
def model(maze):
    return mujoco.MjModel.from_xml_string(ant_maze_xml(maze))


def names(model, kind, count):
    return [mujoco.mj_id2name(model, kind, index) for index in range(count)]


def test_options(model):
    assert model.opt.timestep == 0.02
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
    assert model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
    assert model.opt.solver == mujoco.mjtSolver.mjSOL_NEWTON
    assert (model.nq, model.nv, model.nu) == (15, 14, 8)


def test_geoms(model):
    np.testing.assert_array_equal(model.geom_condim, 3)
    np.testing.assert_array_equal(model.geom_contype, 1)
    np.testing.assert_allclose(model.geom_friction, np.tile([1, 0.5, 0.5], (model.ngeom, 1)))
    np.testing.assert_allclose(model.geom_solref, np.tile([0.02, 1], (model.ngeom, 1)))
    np.testing.assert_allclose(model.geom_solimp[:, :3], np.tile([0.8, 0.8, 0.01], (model.ngeom, 1)))
    fixed = model.geom_bodyid == 0
    np.testing.assert_array_equal(model.geom_conaffinity, fixed.astype(int))
    np.testing.assert_array_equal(model.geom_margin, np.where(fixed, 0.0, 0.01))
    assert (~fixed).sum() == 13
    np.testing.assert_array_equal(model.geom("floor").size[:2], 40)


def test_walls_stand_where_the_map_has_them(model, maze):
    boxes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_BOX)
    np.testing.assert_array_equal(model.geom_size[boxes], np.tile([2, 2, 1], (len(boxes), 1)))
    row, column = next((r, line.index("R")) for r, line in enumerate(maze.rows) if "R" in line)
    expected = {
        (4.0 * (j - column), 4.0 * (i - row), 1.0)
        for i, line in enumerate(maze.rows)
        for j, letter in enumerate(line)
        if letter == "#"
    }
    assert {tuple(place) for place in model.geom_pos[boxes]} == expected
    assert len(boxes) == len(expected)


def test_joints(model):
    joints = names(model, mujoco.mjtObj.mjOBJ_JOINT, model.njnt)
    assert joints == ["root", *(f"{joint}_{leg}" for leg in LEGS for joint in ("hip", "ankle"))]
    np.testing.assert_array_equal(model.dof_armature, [0] * 6 + [1] * 8)
    np.testing.assert_array_equal(model.dof_damping.ravel()[:14], [0] * 6 + [1] * 8)
    for leg in LEGS:
        hip, ankle = model.joint(f"hip_{leg}"), model.joint(f"ankle_{leg}")
        np.testing.assert_allclose(np.degrees(hip.range), [-30, 30])
        np.testing.assert_allclose(np.degrees(ankle.range), [30, 70] if leg in (1, 4) else [-70, -30])
        np.testing.assert_allclose(hip.axis, [0, 0, 1])
        axis = [-1, 1, 0] if leg in (1, 3) else [1, 1, 0]
        np.testing.assert_allclose(ankle.axis, np.array(axis) / math.sqrt(2))
    np.testing.assert_array_equal(model.qpos0, [0, 0, 0.75, 1] + [0] * 11)


def test_bodies_and_their_legacy_masses(model):
    torso = model.geom("torso")
    assert torso.size[0] == 0.25
    assert model.body("torso").mass[0] == pytest.approx(5 * 4 / 3 * math.pi * 0.25**3)
    for leg, (x, y) in LEGS.items():
        for part, offset in LENGTHS.items():
            geom = model.geom(f"{part}_{leg}")
            assert geom.type[0] == mujoco.mjtGeom.mjGEOM_CAPSULE
            length = offset * math.sqrt(2)
            np.testing.assert_allclose(geom.size[:2], [0.08, length / 2])
            np.testing.assert_allclose(geom.pos, [x * offset / 2, y * offset / 2, 0], atol=1e-12)
            mass = model.body_mass[geom.bodyid[0]]
            assert mass == pytest.approx(5 * math.pi * 0.08**2 * (length + 0.08))


def test_without_corrections_margins_and_masses_are_those_of_the_engine(maze):
    model = mujoco.MjModel.from_xml_string(ant_maze_xml(maze, corrected=False))
    np.testing.assert_array_equal(model.geom_margin, 0.01)
    shin = model.body_mass[model.geom("shin_1").bodyid[0]]
    assert shin == pytest.approx(5 * math.pi * 0.08**2 * (0.4 * math.sqrt(2) + 4 / 3 * 0.08))


def test_motors_are_ordered_by_legs_4_1_2_3(model):
    joints = [model.joint(int(index)).name for index in model.actuator_trnid[:, 0]]
    assert joints == [f"{joint}_{leg}" for leg in (4, 1, 2, 3) for joint in ("hip", "ankle")]
    np.testing.assert_array_equal(model.actuator_gear[:, 0], 1)
    np.testing.assert_array_equal(model.actuator_ctrlrange, np.tile([-30, 30], (8, 1)))
    assert model.actuator_ctrllimited.all()
