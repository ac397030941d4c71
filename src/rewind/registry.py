"""Registries: things by name, Rewind's own and those that other packages add.

Another package adds an entry by an entry point, in its pyproject.toml:

    [project.entry-points."rewind.agents"]
    my_agent = "my_package.my_module:MyAgent"

and a script by `AGENTS.register("my_agent", MyAgent)`. This is the only module that imports our own modules by name.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, TypeVar

from rewind.errors import UsageError, missing_extra, unknown_name, warn

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Things by name, in a fixed order, each imported when it is first used: to list the names imports nothing.

    what: one of them, for error messages
    group: of the entry points that other packages add
    builtin: Rewind's own, as objects or as "module:attribute"
    extra: what they need besides NumPy, as in `pip install -e '.[extra]'`
    kind: the class of them all, where they have one
    reserved: further names that nobody may add: they mean something else
    """

    def __init__(
        self,
        what: str,
        group: str,
        builtin: Mapping[str, T | str],
        extra: str | None = None,
        kind: type[T] | None = None,
        reserved: Collection[str] = (),
    ) -> None:
        self.what, self.group, self.extra, self.kind = what, group, extra, kind
        self._builtin, self._reserved = builtin, {*builtin, *reserved}

    def register(self, name: str, thing: T) -> None:
        """Add a thing for as long as this process runs."""
        if name in self._things or name in self._reserved:
            raise UsageError(f"there is already a {self.what} {name!r}: choose another name")
        self._things[name] = self._checked(thing, repr(name))

    def __getitem__(self, name: str) -> T:
        if name not in self._things:
            raise unknown_name(self.what, name, self._things)
        if isinstance(self._things[name], str):
            self._things[name] = self._checked(self._import(self._things[name]), self._things[name])
        thing: T = self._things[name]
        return thing

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._things))

    def __len__(self) -> int:
        return len(self._things)

    def importable(self) -> Iterator[tuple[str, T]]:
        """All but those of other packages that cannot be imported: nobody asked for these, so a warning names them."""
        for name in self:
            try:
                thing = self[name]
            except UsageError as error:
                if name in self._builtin:
                    raise
                warn(f"{error}; {name!r} is left out: install its package again")
            else:
                yield name, thing

    def is_own(self, name: str) -> bool:
        """Whether Rewind has it by itself."""
        return name in self._builtin

    def get(self, name: str, default: Any = None) -> Any:
        """As in any mapping: an unknown name is no error here."""
        return self[name] if name in self._things else default

    @cached_property
    def _things(self) -> dict[str, Any]:
        """Those that are not imported yet as "module:attribute"."""
        from importlib.metadata import entry_points  # slow to import

        things: dict[str, Any] = dict(self._builtin)
        for point in sorted(entry_points(group=self.group), key=lambda point: (point.name, point.value)):
            earlier = things.get(point.name)
            if point.name in self._reserved:
                raise UsageError(f"{point.value} adds the {self.what} {point.name!r}, a name that Rewind uses itself")
            if earlier not in (None, point.value):
                raise UsageError(f"both {earlier} and {point.value} add the {self.what} {point.name!r}")
            things[point.name] = point.value
        return things

    def _checked(self, thing: T, name: str) -> T:
        if self.kind is not None and not isinstance(thing, self.kind):
            raise UsageError(f"the {self.what} {name} is a {type(thing).__name__}; expected a {self.kind.__name__}")
        return thing

    def _import(self, path: str) -> Any:
        try:
            return import_attribute(path)
        except Exception as error:  # whatever somebody's module raises
            if self.extra is not None and isinstance(error, ModuleNotFoundError) and path in self._builtin.values():
                raise missing_extra(str(error.name), self.extra) from error
            raise UsageError(f"the {self.what} {path} cannot be imported: {type(error).__name__}: {error}") from error


def import_attribute(path: str) -> Any:
    """What "module:attribute" means."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
