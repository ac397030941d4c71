"""Environments based on `mujoco.batch`: many simulations of one model, stepped on a thread pool."""

from typing import TYPE_CHECKING, Any

import gymnasium

from rewind.arrays import Array
from rewind.envs.vector import ArrayEnv
from rewind.errors import LIBRARY, MissingExtra, UsageError, install_command, require

__all__ = ["MujocoEnv", "mujoco"]


if TYPE_CHECKING:
    import mujoco
    from mujoco.batch import Batch
else:
    mujoco = require("mujoco", "envs")
    try:
        from mujoco.batch import Batch
    except ImportError as error:
        raise MissingExtra(
            f"this needs mujoco 4.0 or later, for mujoco.batch, but {mujoco.__version__} is installed: "
            f"{install_command(LIBRARY, 'envs')}"
        ) from error


SHADOWS = 1024  # pixels of their map; MuJoCo's 4096 take three quarters of the time where no GPU draws


class MujocoEnv(ArrayEnv):
    """A model, simulated `num_envs` times. Results do not depend on the number of threads, to the bit.

    frame_skip: simulation steps per action
    threads: number of simulator threads, 0 for all cores
    options: see `ArrayEnv`
    qpos, qvel, ctrl: (num_envs, ...) live views of all simulations
    """

    metadata: dict[str, Any] = {**ArrayEnv.metadata, "render_modes": ["rgb_array"]}  # noqa: RUF012
    threaded = True
    camera: str | int = -1  # the camera of the model that `render` uses
    _cannot_draw: str | None = None  # the reason, once it failed in this process

    def __init__(
        self,
        model: Any,
        num_envs: int,
        observation_space: gymnasium.spaces.Box,
        action_space: gymnasium.spaces.Box,
        frame_skip: int,
        *,
        threads: int = 0,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(num_envs, observation_space, action_space, **options)
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"unknown render_mode {render_mode!r}: expected None or 'rgb_array'")
        self.model, self.frame_skip, self.render_mode = model, frame_skip, render_mode
        self.dt = model.opt.timestep * frame_skip
        self.metadata["render_fps"] = round(1.0 / self.dt)
        self.batch = Batch(model, num_envs, threads)
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self._renderer: Any = None

    def set_state(self, ids: Array, qpos: Array, qvel: Array) -> None:
        """Reset the simulations `ids`, then set their state, as Gymnasium's `reset` does.

        qpos: (ids, position)
        qvel: (ids, velocity)
        """
        self.batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self.qpos[ids], self.qvel[ids] = qpos, qvel
        self.batch.forward(ids)

    def simulate(self, ctrl: Array, ids: Array | None) -> None:
        """Apply controls for the duration of one action to the simulations `ids` (None: all)."""
        self.ctrl[:] = ctrl
        if ids is None or len(ids):
            self.batch.step(ids, nstep=self.frame_skip)

    def render(self) -> tuple[Array, ...] | None:
        if self.render_mode is None:
            return None
        return tuple(self.frame(index) for index in range(self.num_envs))

    def frame(self, index: int = 0, height: int = 480, width: int = 480) -> Array:
        """(height, width, 3) uint8: a picture of simulation `index`."""
        if self._renderer is None or (self._renderer.height, self._renderer.width) != (height, width):
            self.close_extras()
            self._renderer = self._make_renderer(height, width)
        data = self.batch.get_data(index)
        mujoco.mj_forward(self.model, data)
        self._renderer.update_scene(data, self.camera)
        self._decorate(self._renderer.scene, index)
        frame: Array = self._renderer.render()
        return frame

    def _decorate(self, scene: Any, index: int) -> None:
        """Draw what is not part of the model, such as a goal."""

    def _make_renderer(self, height: int, width: int) -> Any:
        """A renderer. Never tried again after a failure, because MuJoCo then aborts the process."""
        if MujocoEnv._cannot_draw is not None:
            raise UsageError(MujocoEnv._cannot_draw)
        self.model.vis.global_.offheight = max(self.model.vis.global_.offheight, height)
        self.model.vis.global_.offwidth = max(self.model.vis.global_.offwidth, width)
        self.model.vis.quality.shadowsize = SHADOWS
        try:
            return mujoco.Renderer(self.model, height, width)
        except Exception as error:  # depends on the platform's OpenGL
            MujocoEnv._cannot_draw = (
                f"MuJoCo cannot draw here ({error}). Without a screen it needs libEGL, and MUJOCO_GL=egl in the "
                "environment before MuJoCo is first imported; mazes can also be drawn by rewind.report.maze_plot"
            )
            raise UsageError(MujocoEnv._cannot_draw) from error

    def close_extras(self, **kwargs: Any) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
