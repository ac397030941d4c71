"""`rewind data`: list, download, build and convert data sets."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from rewind.agents.settings import agent_tables, paper_beta, paper_row, paper_settings
from rewind.cli.arguments import Positional, Rare, command, named
from rewind.cli.reader_options import ReaderOptions
from rewind.data.boundaries import Boundaries
from rewind.data.catalogue import Entry, catalogue, entry, known_entry
from rewind.data.convert import convert
from rewind.data.load import load
from rewind.data.ogbench import environment_id, suite_of
from rewind.data.originals import cache_folder, get, verify
from rewind.errors import UsageError, unknown_name
from rewind.files import write_json
from rewind.rebuilt.orders import find_built
from rewind.rebuilt.quick import QUICK
from rewind.rebuilt.recipes import GIVEN, Recipe, find_recipe, later_version, recipes
from rewind.rebuilt.summary import summary
from rewind.table import number, table, text

WHICH = """Use the -v1 set where there is one. Its ants fall and miss their goals as often as D4RL's, and its medium
policies score the same; -v0 sets are easier mazes and weaker robots, kept to repeat earlier results. Adroit's
-expert-v0 sets need a policy that you give; policies that come with Rewind make all its others."""


@dataclass
class DataList:
    """List the published data sets, and those that Rewind builds.

    Example: rewind data list --suite antmaze
    """

    suite: str | None = None
    """Only this suite: mujoco, antmaze, adroit, pointmaze, ogbench or discrete."""
    json: Rare[Path | None] = None
    """Also write the list to this file, with every figure of every set."""

    def run(self) -> None:
        suites = {"pointmaze", "ogbench", "discrete", *(listed.suite for listed in catalogue().values())}
        if self.suite is not None and self.suite not in suites:
            raise unknown_name("suite", self.suite, suites)
        published = [listed for listed in catalogue().values() if self.suite in (None, listed.suite)]
        every = [*recipes().values(), *QUICK.values()]
        rebuilt = [recipe for recipe in every if self.suite in (None, _suite(recipe))]
        sections = {"published": [_row(listed) for listed in published], "rebuilt": [_made_row(r) for r in rebuilt]}
        for title, rows in sections.items():
            if rows:
                here = sum(row["here"] for row in rows)
                print(f"{table(rows)}\n\n{len(rows)} {title} data sets, {here} of them in {cache_folder()}\n")
        if any(later_version(recipe.name) for recipe in rebuilt):
            print(WHICH)
        if self.json is not None:
            sets = {"sets": [_figures(listed) for listed in published], "rebuilt": [_made_figures(r) for r in rebuilt]}
            write_json(self.json, sets)


@dataclass
class DataInfo:
    """Show what is known about one data set, and the paper's settings for it.

    Example: rewind data info hopper-medium-v2
    """

    name: Positional[str]
    """The data set, for example hopper-medium-v2 or rewind/hopper-medium-v1."""
    json: Rare[Path | None] = None
    """Also write it to this file."""

    def run(self) -> None:
        if self.name.startswith("rewind/"):
            recipe = QUICK.get(self.name) or find_recipe(self.name)
            figures = _made_figures(_of_task(recipe, self.name))
        elif self.name not in catalogue():
            known = [*catalogue(), *recipes(), *QUICK]
            raise unknown_name("data set", self.name, known, where="known: rewind data list")
        else:
            figures = _figures(entry(self.name))
        flat = {}
        for key, value in figures.items():
            inner = value if isinstance(value, dict) else {"": value}
            flat.update({f"{key}.{sub}" if sub else key: text(item) for sub, item in inner.items()})
        _show(flat, figures, self.json)


@dataclass
class DataGet:
    """Download the published file of a data set to the cache folder ($REWIND_DATA, or ~/.rewind/data).

    Example: rewind data get hopper-medium-v2 --from hopper_medium-v2.hdf5
    """

    name: Positional[str]
    """The data set, for example hopper-medium-v2."""
    source: Annotated[Path | None, named("from", "Copy the file from here instead of downloading it.")] = None
    mirror: Rare[str | None] = None
    """Base address to download from. Default: $REWIND_MIRROR, otherwise the publisher's."""
    json: Rare[Path | None] = None
    """Also write path, size and digest to this file."""

    def run(self) -> None:
        _not_quick(self.name)
        if self.name in recipes():
            raise UsageError(f"{self.name} is not published; build it with: rewind data build {self.name}")
        path = get(self.name, source=self.source, mirror=self.mirror)
        record = {"name": self.name, "path": str(path), **verify(self.name)}
        record.pop("modified_ns", None)
        _show({key: text(value) for key, value in record.items()}, record, self.json)


@dataclass
class DataBuild:
    """Build a data set from behaviour policies, in the cache folder ($REWIND_DATA, or ~/.rewind/data).

    The same arguments give the same arrays for any number of processes.

    Example: rewind data build rewind/hopper-medium-v1 --size 10000
    """

    name: Positional[str]
    """The data set, for example rewind/hopper-medium-v1 (rewind data list)."""
    size: int | None = None
    """Number of transitions. Default: as many as D4RL's."""
    seed: int = 0
    """Seed of the episodes."""
    threads: Rare[int | None] = None
    """Number of processes. Default: one for each core."""
    policy: Rare[Path | None] = None
    """Your own behaviour policy (docs/rebuilt_data.md); Adroit's -expert-v0 sets need one."""
    keep_going: Rare[bool] = False
    """In mazes: continue to the horizon after an episode reaches its goal."""
    force: bool = False
    """Build it again, even if it exists."""
    json: Rare[Path | None] = None
    """Also write path, digest and figures to this file."""

    def run(self) -> None:
        from rewind.rebuilt.build import build, read_built  # imports the simulators

        _not_quick(self.name)
        begin = time.monotonic()
        path = build(
            self.name, size=self.size, seed=self.seed, policy=self.policy, keep_going=self.keep_going,
            threads=self.threads, force=self.force,
        )  # fmt: skip
        data = read_built(path)
        figures = {"name": self.name, "path": str(path), **summary(data), "seconds": time.monotonic() - begin}
        shown = {key: number(value) if isinstance(value, float) else text(value) for key, value in figures.items()}
        _show({key.replace("_", " "): value for key, value in shown.items()}, figures, self.json)
        later = later_version(self.name)
        if later is not None and find_recipe(self.name).policies != (GIVEN,):
            print(f"\nThis set is kept to repeat earlier results. Use {later} otherwise: it is nearer to D4RL's.")


@dataclass
class DataConvert:
    """Write a data set as a folder of .npy files that stay on the disk, for data that does not fit into memory.

    Use the folder like any data set: rewind train --dataset FOLDER. D4RL's HDF5 files are converted piece by piece.

    Example: rewind data convert log.hdf5 log_on_disk
    """

    source: Positional[str]
    """What rewind train takes: a file, a folder, a name."""
    folder: Positional[Path]
    """The folder to write; it must not exist."""
    boundaries: Rare[Boundaries | None] = None
    """Where trajectories end in flat data. Default: the catalogue's rule, otherwise flags."""
    merge_fragments: Rare[bool | None] = None
    """Join one-step successes to the trajectory before them. Default: the catalogue's rule, otherwise no."""
    keys: Rare[tuple[str, ...] | None] = None
    """For dict observations: the keys to concatenate, in this order."""
    reader: ReaderOptions = field(default_factory=ReaderOptions)

    def run(self) -> None:
        rule = {"boundaries": self.boundaries, "merge_fragments": self.merge_fragments, "keys": self.keys}
        convert(self.source, self.folder, **rule, **self.reader.given())
        data = load(self.folder)
        print(f"{data}\nwrote {self.folder}: {data.nbytes / 1e6:,.1f} MB, which stay on the disk")


HELP = "List, download, build and convert data sets.\n\nExample: rewind data list"
COMMANDS = (DataList, DataInfo, DataGet, DataBuild, DataConvert)
Data = command("Data", HELP, *COMMANDS)


def _not_quick(name: str) -> None:
    """Raise an error for a data set that has no file."""
    if name in QUICK:
        raise UsageError(
            f"{name} needs no file: it is made in seconds whenever it is loaded, as by rewind train --dataset {name}; "
            f"to keep it: rewind data convert {name} FOLDER"
        )


def _show(shown: Mapping[str, str], figures: Mapping[str, Any], json: Path | None) -> None:
    width = max(map(len, shown))
    print("\n".join(f"{key:{width}}  {value}" for key, value in shown.items()))
    if json is not None:
        write_json(json, figures)


def _figures(published: Entry) -> dict[str, Any]:
    return {**asdict(published), **_paper(published.name), "here": (cache_folder() / published.file).is_file()}


def _paper(dataset: str) -> dict[str, Any]:
    """The paper's settings for a data set, by agent."""
    return {"beta": paper_beta(dataset), **{name: paper_row(name, dataset) for name in agent_tables()}}


def _row(published: Entry) -> dict[str, Any]:
    return {
        "name": published.name,
        "rewards": published.label,
        "episodes": published.episodes,
        "horizon": published.horizon,
        "evaluated on": published.environment,
        "beta": paper_beta(published.name),
        "alpha": paper_settings("td3_bc", published.name).get("alpha"),
        "paper": published.paper,
        "here": (cache_folder() / published.file).is_file(),
    }


def _suite(recipe: Recipe) -> str:
    return "discrete" if recipe.name in QUICK else suite_of(recipe.name) or "pointmaze"


def _of_task(recipe: Recipe, name: str) -> Recipe:
    """The recipe of one of OGBench's tasks, which has the rows of all of them and an environment of its own."""
    return replace(recipe, name=name, environment=environment_id(name) or recipe.environment)


def _made_figures(recipe: Recipe) -> dict[str, Any]:
    published, later = known_entry(recipe.name), later_version(recipe.name)
    figures = {
        **asdict(recipe),
        "named after": published and published.name,
        "use instead": later,
        "here": _built(recipe),
    }
    paper = _paper(recipe.name)
    return {**figures, **paper} if any(paper.values()) else figures


def _made_row(recipe: Recipe) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "made by": ", ".join(recipe.policies),
        "transitions": recipe.size,
        "horizon": recipe.horizon,
        "evaluated on": recipe.environment,
        "use": "no" if later_version(recipe.name) else "yes",
        "here": _built(recipe),
    }


def _built(recipe: Recipe) -> bool:
    return recipe.name not in QUICK and bool(find_built(recipe.name))
