"""What the tests of the runner share: six small runs, and what becomes of them."""

import pytest
from lab.tests.paper.small import options, write_definitions


@pytest.fixture(scope="session")
def definitions(tmp_path_factory):
    return write_definitions(tmp_path_factory.mktemp("definitions"))


@pytest.fixture(scope="session")
def runs(definitions):
    from rewind_lab.paper.definitions import RunChoice, in_order, load_definitions

    return in_order(load_definitions(definitions).wanted(RunChoice()))


@pytest.fixture(scope="session")
def whole(runs, tmp_path_factory):
    """The results of a runner that was left alone."""
    from rewind_lab.paper.clock import Deadline
    from rewind_lab.paper.runner import Runner

    out = tmp_path_factory.mktemp("whole")
    Runner(out, runs, Deadline(), options()).run()
    return out
