"""What the command line says: help texts, examples, wrong arguments, completion."""

import re
import shlex
import subprocess
import sys

import pytest

pytest.importorskip("tyro")

from rewind.cli import main
from rewind.cli.arguments import MAY_BE_ALONE
from rewind.cli.help import WELCOME, command_help
from rewind.cli.main import OWN
from rewind.cli.options import VALUES, examples, options_of, subcommands_of, summary

try:
    from rewind_lab.commands import COMMANDS
except ImportError:  # the lab is not installed
    COMMANDS = {}


def walk(path, kind):
    yield path, kind
    for name, inner in subcommands_of(kind).items():
        yield from walk(f"{path} {name}", inner)


ALL = {path: kind for name, kind in {**OWN, **COMMANDS}.items() for path, kind in walk(f"rewind {name}", kind)}


def said(capsys, *arguments):
    """The one line on stderr of a command that fails with status 2."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments), commands={**OWN, **COMMANDS})
    line = capsys.readouterr().err
    assert stopped.value.code == 2 and line.count("\n") == 1
    return line.strip()


@pytest.mark.parametrize("path", ALL)
def test_every_command_has_a_summary_an_example_that_parses_and_a_text_for_every_option(path, monkeypatch):
    kind, ran = ALL[path], []
    assert summary(kind).endswith(".") and examples(kind)
    for member in (member for member in ALL.values() if not subcommands_of(member)):
        monkeypatch.setattr(member, "run", lambda self: ran.append(type(self)))
    for example in examples(kind):
        assert example.startswith(path)
        main(shlex.split(example)[1:], commands={**OWN, **COMMANDS})
    assert len(ran) == len(examples(kind))
    if not subcommands_of(kind):
        assert set(ran) == {kind}
        assert all(option.text.endswith(".") for option in options_of(kind))


def test_options_that_may_be_alone_are_all_that_are_true_false_or_a_default():
    commands = [kind for kind in ALL.values() if not subcommands_of(kind)]
    asked = {option.names[0] for kind in commands for option in options_of(kind) if option.value == VALUES[bool]}
    assert asked == set(MAY_BE_ALONE)


@pytest.mark.parametrize("path", ["rewind train", "rewind inspect", "rewind data build"])
def test_rare_options_are_in_help_all_alone(path):
    kind = ALL[path]
    usual, everything = (command_help(path, kind, everything) for everything in (False, True))
    for option in options_of(kind):
        assert option.names[0] in everything
        assert bool(re.search(rf"  {option.names[0]}(?![\w-])", usual)) is not option.rare
    assert f"{path} --help-all" in usual and len(usual.splitlines()) < 70


def test_inspect_shows_the_flags_of_a_table_and_train_says_where_they_are():
    inspect, train = (command_help(f"rewind {name}", ALL[f"rewind {name}"], False) for name in ("inspect", "train"))
    for name in ("episode", "time", "observations", "actions", "reward", "terminal", "truncated"):
        assert f"\n  --{name} NAME" in inspect and f"\n  --{name} NAME" not in train
    assert "Or name columns by flags (--help-all)" in " ".join(train.split())


def test_rewind_alone_shows_the_four_things_people_do(capsys):
    main([])
    printed = capsys.readouterr().out
    assert printed.strip() == WELCOME
    shown = [line[25:].split() for line in WELCOME.splitlines() if line.startswith("  ")]
    assert len(shown) == 4 and all(words[0] == "rewind" and words[1] in OWN for words in shown)


def test_help_lists_every_command_with_its_summary(capsys):
    main(["--help"], commands={**OWN, **COMMANDS})
    printed = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {summary(kind)}" in printed for name, kind in {**OWN, **COMMANDS}.items())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("train --datset x", "rewind train has no option --datset: did you mean --dataset?"),
        ("train --dataset=x --batch_sise=4", "rewind train has no option --batch-sise: did you mean --batch-size?"),
        ("data list --xyz", "rewind data list has no option --xyz: rewind data list --help-all lists all"),
        ("train --dataset x --steps many", "rewind train --steps many: expected INT"),
        ("train --dataset x --beta all", "rewind train --beta all: expected NUMBER|paper ..."),
        ("train --dataset", "rewind train --dataset: expected NAME"),
        ("train --dataset x --priority-alpha 1", "--priority-alpha is now --rank-exponent"),
        ("demo --maze=round", "rewind demo --maze round: expected umaze|medium|large"),
        ("data info", "rewind data info needs NAME: "),
        ("export policy", "rewind export needs --onnx: "),
        ("data list all", "rewind data list does not take 'all': "),
        (
            "train --dataset x --recommended yes",
            "rewind train does not take 'yes' after --recommended, which takes no value: ",
        ),
        ("data", "rewind data needs a command: list, "),
        ("trian", "unknown command 'trian': did you mean 'train'?"),
        ("--completion ksh", "--completion ksh: expected bash, zsh, fish, tcsh"),
    ],
)
def test_wrong_arguments_are_one_line_with_what_was_expected(arguments, expected, capsys):
    assert said(capsys, *arguments.split()).startswith(f"rewind: {expected}")


def test_a_second_name_and_underscores_select_the_same_option(monkeypatch):
    chosen = []
    monkeypatch.setattr(OWN["train"], "run", lambda self: chosen.append(self))
    for flags in (["--priority", "tr", "--batch_size", "4"], ["--samplers", "tr", "--batch-size=4"]):
        main(["train", "--dataset", "x", *flags])
    assert chosen[0] == chosen[1] and chosen[0].agent.batch_size == 4


def test_completion_knows_commands_and_rare_options(capsys):
    main(["--completion", "bash"])
    script = capsys.readouterr().out
    assert "complete" in script and "inspect" in script and "--rank-exponent" in script
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_help_needs_no_jax():
    program = "import sys; from rewind.cli import main; main(['train', '--help']); main(['--help']); "
    program += "print(sorted({'jax', 'torch', 'mujoco', 'matplotlib', 'h5py'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "[]"
