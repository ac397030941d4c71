"""The lab's tests have the fixtures of the library's."""

from tests.conftest import beside  # noqa: F401
