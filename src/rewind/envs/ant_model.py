"""D4RL's ant in a maze, as a MuJoCo model."""

import math

from rewind.arrays import Array
from rewind.envs.mazes import Maze

CELL = 4.0  # metres
RADIUS, DENSITY, MARGIN = 0.08, 5.0, 0.01
AUX, THIGH, SHIN = 0.2, 0.2, 0.4  # offsets on both axes
LEGS = {1: (1, 1), 2: (-1, 1), 3: (-1, -1), 4: (1, -1)}  # directions, in the order of qpos
MOTORS = (4, 1, 2, 3)  # legs in the order of the controls
STRENGTH = 30.0  # the control for an action of 1


def uprightness(observations: Array) -> Array:
    """(n,) vertical component of the torso's upward axis: 1 standing, -1 on its back."""
    up: Array = 1.0 - 2.0 * (observations[:, 4] ** 2 + observations[:, 5] ** 2)
    return up


def ant_maze_xml(maze: Maze, corrected: bool = True) -> str:
    """The model's MJCF.

    corrected: make today's MuJoCo compute what MuJoCo 2.0 did, which made D4RL's data:
        2.0 used the larger margin of a contact's two geoms, today they add up: floor and walls get no margin
        2.0 took a capsule's mass as density * pi * r^2 * (length + r), today it is exact: masses are set
    """
    margin = 0.0 if corrected else MARGIN
    walls = "\n".join(_wall(maze, row, column, margin) for row, column in zip(*maze.walls.nonzero(), strict=True))
    legs = "\n".join(_leg(number, corrected) for number in LEGS)
    joints = [f"{joint}_{leg}" for leg in MOTORS for joint in ("hip", "ankle")]
    limits = f'ctrllimited="true" ctrlrange="{-STRENGTH} {STRENGTH}"'
    motors = "\n".join(f'    <motor joint="{joint}" gear="1" {limits}/>' for joint in joints)
    left, right, bottom, top = maze.bounds(CELL)
    height = 0.54 * max(right - left, top - bottom) / math.tan(math.radians(22.5))
    return f"""<mujoco model="ant in {maze.name}">
  <compiler inertiafromgeom="true" angle="degree"/>
  <option timestep="0.02" integrator="RK4" cone="pyramidal" solver="Newton"/>
  <visual><global offwidth="640" offheight="640"/><headlight ambient="0.4 0.4 0.4" specular="0 0 0"/></visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" width="64" height="64" rgb1="1 1 1" rgb2="0.7 0.8 0.9"/>
    <texture name="tiles" type="2d" builtin="checker" width="64" height="64" rgb1="0.93 0.93 0.9" rgb2=".86 .87 .84"/>
    <material name="floor" texture="tiles" texrepeat="20 20"/>
  </asset>
  <default>
    <joint limited="true" armature="1" damping="1"/>
    <geom condim="3" conaffinity="0" margin="{MARGIN}" friction="1 0.5 0.5" solref="0.02 1" solimp="0.8 0.8 0.01"
      density="{DENSITY}" rgba="0.8 0.6 0.4 1"/>
  </default>
  <worldbody>
    <light directional="true" pos="0 0 20" dir="0.3 0.2 -1" diffuse="0.4 0.4 0.4" specular="0 0 0" castshadow="false"/>
    <camera name="above" pos="{(left + right) / 2} {(bottom + top) / 2} {height}"/>
    <geom name="floor" type="plane" size="40 40 40" conaffinity="1" margin="{margin}" material="floor" rgba="1 1 1 1"/>
{walls}
    <body name="torso" pos="0 0 0.75">
      <camera name="track" mode="trackcom" pos="0 -6 6" xyaxes="1 0 0 0 0.7 0.7"/>
      <joint name="root" type="free" limited="false" armature="0" damping="0"/>
      <geom name="torso" type="sphere" size="0.25"/>
{legs}
    </body>
  </worldbody>
  <actuator>
{motors}
  </actuator>
</mujoco>
"""


def _wall(maze: Maze, row: int, column: int, margin: float) -> str:
    half = CELL / 2
    x, y = maze.centres([row, column], CELL)  # type: ignore[arg-type]
    return (
        f'    <geom name="wall_{row}_{column}" type="box" pos="{x} {y} 1" size="{half} {half} 1" '
        f'conaffinity="1" margin="{margin}" rgba="0.45 0.5 0.58 1"/>'
    )


def _leg(number: int, corrected: bool) -> str:
    x, y = LEGS[number]
    axis = "-1 1 0" if x * y > 0 else "1 1 0"
    angles = "30 70" if number in (1, 4) else "-70 -30"
    return f"""      <body name="leg_{number}">
        {_capsule(f"aux_{number}", x, y, AUX, corrected)}
        <body name="thigh_{number}" pos="{x * AUX} {y * AUX} 0">
          <joint name="hip_{number}" type="hinge" axis="0 0 1" range="-30 30"/>
          {_capsule(f"thigh_{number}", x, y, THIGH, corrected)}
          <body name="shin_{number}" pos="{x * THIGH} {y * THIGH} 0">
            <joint name="ankle_{number}" type="hinge" axis="{axis}" range="{angles}"/>
            {_capsule(f"shin_{number}", x, y, SHIN, corrected)}
          </body>
        </body>
      </body>"""


def _capsule(name: str, x: int, y: int, offset: float, corrected: bool) -> str:
    ends = f'fromto="0 0 0 {x * offset} {y * offset} 0"'
    mass = f' mass="{legacy_mass(offset)}"' if corrected else ""
    return f'<geom name="{name}" type="capsule" size="{RADIUS}" {ends}{mass}/>'


def legacy_mass(offset: float) -> float:
    """Mass in kg of a capsule from the origin to (offset, offset), as MuJoCo 2.0 computed it."""
    return DENSITY * math.pi * RADIUS**2 * (math.hypot(offset, offset) + RADIUS)
