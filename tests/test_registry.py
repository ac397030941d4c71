"""Registries: names without imports, other packages' entries, clear errors."""

import subprocess
import sys

import pytest

from rewind.errors import MissingExtra, UsageError
from rewind.registry import Registry
from tests.plugin.install import install

GROUP = "rewind.test"


def registry(**builtin):
    return Registry("thing", GROUP, {"one": 1, **builtin})


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes a package with one entry point."""

    def package(point, name="other-package"):
        install(tmp_path, name, {GROUP: point})
        monkeypatch.syspath_prepend(str(tmp_path))

    return package


def test_it_is_a_mapping_in_a_fixed_order_and_imports_what_is_asked_for(package):
    package("two = math:tau")
    things = registry(three="collections:OrderedDict", never="rewind.no_such_module:thing")
    assert list(things) == ["one", "three", "never", "two"] and len(things) == 4
    assert things["one"] == 1 and things["two"] == pytest.approx(6.2832, abs=1e-4)
    assert things["three"].__name__ == "OrderedDict" and things["three"] is things["three"]
    things.register("four", 4)
    assert things["four"] == 4 == things.get("four") and things.get("five") is None and "five" not in things


def test_unknown_names_get_the_nearest():
    with pytest.raises(UsageError, match="unknown thing 'ome': did you mean 'one'"):
        registry()["ome"]


def test_a_name_means_one_thing(package):
    with pytest.raises(UsageError, match="already a thing 'one'"):
        registry().register("one", 2)
    reserved = Registry("thing", GROUP, {"one": 1}, reserved=["all"])
    with pytest.raises(UsageError, match="already a thing 'all'"):
        reserved.register("all", 2)
    assert list(reserved) == ["one"]
    package("one = math:pi")
    with pytest.raises(UsageError, match="math:pi adds the thing 'one', a name that Rewind uses itself"):
        list(registry())


def test_two_packages_cannot_share_a_name(package):
    package("two = math:pi")
    package("two = math:tau", "third-package")
    with pytest.raises(UsageError, match="both math:pi and math:tau add the thing 'two'"):
        list(registry())


def test_what_cannot_be_imported_is_one_line(package):
    package("two = no_such_package:thing")
    with pytest.raises(UsageError, match=r"the thing no_such_package:thing cannot be imported: ModuleNotFoundError"):
        registry()["two"]
    things = Registry("thing", "nobody", {"one": "no_such_package.part:thing"}, extra="train")
    with pytest.raises(MissingExtra, match=r"'no_such_package'.*pip install .*\[train\]"):
        things["one"]


def test_names_and_papers_numbers_need_no_jax():
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "from rewind.agents import AGENTS\nfrom rewind.agents.settings import paper_settings\n"
        "print(*AGENTS, paper_settings('td3_bc', 'hopper-medium-v2'))\n"
        "try: AGENTS['bc']\nexcept ImportError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert (
        printed.startswith("bc discrete_bc discrete_iql dqn edac iql rebrac td3_bc {'alpha': 2.5}\n")
        and "[train]" in printed
    )
