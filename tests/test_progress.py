"""Lines of progress, where there is no bar."""

from rewind import progress


def test_a_rate_is_printed_when_it_means_something(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "_tqdm", lambda: None)
    bar = progress.steps_bar("set", 1000, 0)
    for now, steps in ((12.0, 32), (12.1, 32), (22.0, 30), (22.2, 34), (82.3, 64)):
        clock[0] = now
        bar.update(steps)
    assert capsys.readouterr().err.splitlines() == [
        "set: 64 of 1,000 steps",  # two processes were done at nearly the same time
        "set: 128 of 1,000 steps, 9 per second, 2 min left",
        "set: 192 of 1,000 steps, 2 per second, 6 min left",
    ]
