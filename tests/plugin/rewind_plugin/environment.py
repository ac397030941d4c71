"""A corridor: the position moves by the action, the reward is the distance gained, an episode is ten steps long."""

import gymnasium
import numpy as np


class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position, self.steps = self.np_random.uniform(-1, 1), 0
        return self._observation(), {}

    def step(self, action):
        self.position += float(action[0])
        self.steps += 1
        return self._observation(), float(action[0]), False, self.steps == 10, {}

    def _observation(self):
        return np.array([self.position], np.float32)
