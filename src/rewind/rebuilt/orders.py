"""What to build: a recipe, a size, a seed, policies; and the file in the cache that belongs to it."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rewind.data.originals import cache_folder
from rewind.errors import DataError, UsageError
from rewind.rebuilt.policy import load_behaviour
from rewind.rebuilt.recipes import GIVEN, NO_FILE, REVISED, VERSION, Recipe, find_recipe, is_rebuilt, later_version

POLICIES = Path(__file__).parent / "policies"  # shipped with the package


@dataclass(frozen=True)
class PartOrder:
    """What one policy contributes.

    name: name of the policy, or of a data set that is repeated
    path: its file, None if it needs none
    digest: SHA-256 of the file; for a data set that is repeated, its key
    size: number of transitions
    meta: how it was trained, from the file
    """

    name: str
    path: Path | None
    digest: str | None
    size: int
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Order:
    """A data set to build."""

    recipe: Recipe
    seed: int
    parts: tuple[PartOrder, ...]

    @property
    def version(self) -> int:
        return REVISED.get(self.recipe.name, VERSION)

    @property
    def key(self) -> str:
        """A digest of everything the data depends on."""
        policies = [(part.name, part.digest, part.size) for part in self.parts]
        what = json.dumps([self.version, asdict(self.recipe), self.seed, policies])
        return hashlib.blake2b(what.encode(), digest_size=6).hexdigest()

    @property
    def path(self) -> Path:
        return cache_folder() / f"{file_stem(self.recipe.name)}-n{self.recipe.size}-s{self.seed}-{self.key}.npz"

    def notes(self) -> dict[str, Any]:
        """How it is made, recorded with the data."""
        policies = [
            {"name": part.name, "sha256": part.digest, "transitions": part.size, "meta": dict(part.meta)}
            for part in self.parts
            if part.size
        ]
        return {"recipe_version": self.version, "recipe": asdict(self.recipe), "seed": self.seed, "policies": policies}


def file_stem(name: str) -> str:
    """rewind/hopper-medium-v0 -> rewind-hopper-medium-v0"""
    return name.replace("/", "-")


def make_order(
    name: str,
    size: int | None = None,
    seed: int = 0,
    policy: str | os.PathLike[str] | None = None,
    keep_going: bool = False,
) -> Order:
    """Check the arguments of a build.

    size: number of transitions; default: the recipe's
    policy: a file to use instead of the shipped one, for recipes with one policy
    keep_going: in mazes, continue after an episode's own goal, to the horizon
    """
    recipe = find_recipe(name)
    if size is not None:
        if size < 1:
            raise UsageError(f"size is {size}; expected at least 1 transition")
        recipe = replace(recipe, size=size)
    if seed < 0:
        raise UsageError(f"seed is {seed}; expected 0 or more")
    if keep_going:
        if recipe.maze is None:
            raise UsageError(f"keep_going is for mazes; {name} has no goals of its own")
        recipe = replace(recipe, maze=replace(recipe.maze, stop=False))
    files = _files(recipe, None if policy is None else Path(policy))
    shares = [recipe.size * (index + 1) // len(files) for index in range(len(files))]
    sizes = [share - before for share, before in zip(shares, [0, *shares[:-1]], strict=True)]
    parts = [_part(label, path, part, seed) for (label, path), part in zip(files, sizes, strict=True)]
    return Order(recipe, seed, tuple(parts))


def find_built(name: str) -> list[Path]:
    """The existing files of a data set of full size and seed 0: none, one, or one for each of the user's policies."""
    recipe = find_recipe(name)
    if recipe.policies == (GIVEN,):
        return sorted(cache_folder().glob(f"{file_stem(name)}-n{recipe.size}-s0-*.npz"))
    try:
        path = make_order(name).path
    except DataError:  # its policies are missing
        return []
    return [path] if path.is_file() else []


def _part(name: str, path: Path | None, size: int, seed: int) -> PartOrder:
    if path is None:
        return PartOrder(name, None, make_order(name, seed=seed).key if is_rebuilt(name) else None, size)
    policy = load_behaviour(path)
    return PartOrder(name, path, policy.digest, size, policy.meta)


def _or(recipe: Recipe) -> str:
    """What to build instead of a data set that is made by the user's policy, as the end of an error."""
    later = later_version(recipe.name)
    return "" if later is None else f", or build {later}, which needs none"


def _files(recipe: Recipe, policy: Path | None) -> Sequence[tuple[str, Path | None]]:
    """Names and files of the policies, in the order in which they play."""
    if policy is not None:
        if len(recipe.policies) > 1 or recipe.policies[0] in NO_FILE or "*" in recipe.policies[0]:
            raise UsageError(f"{recipe.name} is made by {', '.join(recipe.policies)}: it takes no --policy")
        return [(policy.stem, policy.resolve())]
    files: list[tuple[str, Path | None]] = []
    for name in recipe.policies:
        if name == GIVEN:
            raise UsageError(
                f"Rewind ships no policy for {recipe.name}: give one with --policy FILE (docs/rebuilt_data.md)"
                f"{_or(recipe)}"
            )
        if name in NO_FILE or is_rebuilt(name):
            files.append((name, None))
            continue
        paths = [POLICIES / f"{name}.npz"]
        if "*" in name:  # hopper-replay-10 comes after hopper-replay-9
            paths = sorted(POLICIES.glob(f"{name}.npz"), key=lambda path: (len(path.stem), path.stem))
        missing = [path for path in paths if not path.is_file()]
        if missing or not paths:
            raise DataError(f"{recipe.name} needs the policy {POLICIES / name}.npz, which is missing")
        files += [(path.relative_to(POLICIES).with_suffix("").as_posix(), path.resolve()) for path in paths]
    return files
