"""`rewind bench peers`, with whichever libraries are installed."""

from __future__ import annotations

import importlib.util
import json

import pytest

from rewind import UsageError
from rewind_lab.bench.peer_buffers import OURS, PEERS
from rewind_lab.bench.peers import BenchPeers


def test_every_installed_library_is_measured_and_the_others_are_named(tmp_path, capsys):
    BenchPeers(size=40_000, batch=32, rounds=1, seconds=0.001, json=tmp_path / "peers.json").run()
    figures = json.loads((tmp_path / "peers.json").read_text())
    assert set(figures["sample_us"]) | set(figures["skipped"]) == {*OURS, *PEERS}
    for peer in PEERS:
        if importlib.util.find_spec(peer.split()[0]) is None:
            assert figures["skipped"][peer] == "not installed"
        elif peer != "torchrl prioritised":  # its extension loads with one version of torch only
            assert set(figures["sample_ratio"][peer]) == {*OURS}
    for name in figures["sample_and_update_us"]:
        assert "prioritised" in name
    assert "rewind TR" in capsys.readouterr().out


def test_impossible_settings_say_why():
    with pytest.raises(UsageError, match="tianshou"):
        BenchPeers(only=("tianshu",)).run()
    with pytest.raises(UsageError, match="multiple of 16"):
        BenchPeers(batch=100).run()
