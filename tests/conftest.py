"""For all tests."""

import rewind.envs  # noqa: F401  before anybody imports MuJoCo, which decides how to draw when it is imported
