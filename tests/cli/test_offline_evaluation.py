"""From a log to a ranked page without a simulator: `rewind train --hold-out`, `evaluate --offline`, `report`."""

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

for package in ("jax", "equinox", "optax", "tyro"):
    pytest.importorskip(package)

from tests.helpers import make
from tests.report.browser import chromium, fits_the_screen, visit

import rewind
from rewind.cli import main
from rewind.data import save_npz
from rewind.data.folder import save_folder
from rewind.data.split import split
from rewind.evaluation.offline_record import discount_of, find_policies, held_out_of
from rewind.evaluation.offline_table import read_offline
from rewind.evaluation.rows import diagnostics_of
from rewind.report import decision
from rewind.report.decision import verdict
from rewind.report.train_folder import read_trainings

__all__ = ["chromium", "visit"]  # fixtures
TRAIN = ["--algorithm", "td3_bc", "--samplers", "baseline", "tr", "--hold-out", "0.25", "--steps", "20",
         "--hidden", "8", "8", "--batch-size", "8", "--log-every", "10", "--fit-steps", "20"]  # fmt: skip
DATA = make(np.random.default_rng(0).integers(5, 25, 40), known=1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A training of two runs on 30 of 40 trajectories."""
    path = tmp_path_factory.mktemp("offline")
    save_npz(DATA, path / "log.npz")
    main(["train", "--dataset", str(path / "log.npz"), *TRAIN, "--out", str(path / "run")])
    return path


def fails(capsys, *arguments):
    """The one line that is printed for bad input."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and error.count("\n") == 1, error
    return error


def test_policies_know_what_they_were_not_trained_on(folder):
    config = json.loads((folder / "run" / "config.json").read_text())["config"]
    assert [run["view"]["hold_out"] for run in config["runs"]] == [0.25, 0.25]
    policies = find_policies([folder / "run"])
    np.testing.assert_array_equal(held_out_of(policies, DATA), split(40, 0.25)[1])
    assert discount_of(policies) == 0.99 and policies[0].policy.provenance["source"]["dataset"].endswith("log.npz")
    # Observations are normalised by what was trained on alone.
    trained_on = DATA.select(split(40, 0.25)[0])
    np.testing.assert_allclose(policies[0].policy.mean, trained_on.observations.mean(0), atol=1e-5)
    figures = json.loads((folder / "run" / "results.json").read_text())["runs"][0]
    assert figures["rows"] == DATA.select(split(40, 0.25)[1]).transitions.sum()  # of the diagnostics


def test_a_resumed_training_keeps_its_split(folder, capsys):
    again = ["train", "--dataset", folder / "log.npz", *TRAIN, "--out", folder / "run", "--resume"]
    assert "hold_out" in fails(capsys, *again, "--hold-out", "0.5")
    assert "hold_out_seed" in fails(capsys, *again, "--hold-out-seed", "1")


def test_the_ranking_is_of_held_out_trajectories_and_kept_in_a_file(folder, capsys):
    main(["evaluate", str(folder / "run"), "--offline", "--steps", "20", "--members", "4", "--out", str(folder)])
    told, record = capsys.readouterr().out, json.loads((folder / "offline.json").read_text())
    assert record["trajectories"] == 10 and record["held_out"] and len(record["policies"]) == 2
    values = [policy["estimate"][0] for policy in record["policies"]]
    assert values == sorted(values, reverse=True)
    for policy in record["policies"]:
        assert policy["supported"] == (
            not any("unlike what the log shows" in concern for concern in policy["concerns"])
        )
    assert "10 held-out trajectories" in told and "only 10 trajectories" in told and "the log's own policy" in told
    assert "(4 networks, 20 steps each)" in told and "in place of" not in told
    main(["evaluate", str(folder / "run"), "--offline", "--steps", "10", "--members", "4", "--out", str(folder)])
    assert "in place of a longer fit of 20 steps" in capsys.readouterr().out


def test_what_cannot_be_evaluated_is_one_line(folder, tmp_path, capsys):
    run = folder / "run"
    assert "--offline is missing" in fails(capsys, "evaluate", run)
    assert "no policy in" in fails(capsys, "evaluate", tmp_path, "--offline")
    save_npz(make([9, 9, 9], seed=1, known=1.0), tmp_path / "other.npz")
    assert "its fingerprint differs" in fails(capsys, "evaluate", run, "--offline", "--dataset", tmp_path / "other.npz")
    missing = fails(capsys, "evaluate", run, "--offline", "--dataset", tmp_path / "gone.npz")
    assert "gone.npz" in missing and "--dataset says where it is now" in missing
    assert "members is 2" in fails(capsys, "evaluate", run, "--offline", "--members", "2")
    assert "hold_out is 1" in fails(capsys, "train", "--dataset", folder / "log.npz", *TRAIN, "--hold-out", "1")


def test_in_a_browser_the_page_begins_with_the_ranking_and_a_phone_is_wide_enough(folder, visit):
    main(["report", str(folder / "run")])
    for width in (390, 1280):
        page = visit(folder / "run" / "report.html", width=width, height=800, touch=width == 390)
        assert fits_the_screen(page)
    section = page.locator("section").first
    assert "Which policy?" in section.text_content()
    assert section.locator("table").first.locator("tbody tr").count() == 3  # two policies and the log's own
    assert "The highest estimate is that of td3_bc" in section.text_content()
    folded = section.locator("details").first
    folded.locator("summary").click()
    assert folded.get_by_text("Lower quarter").first.is_visible()


def test_rankings_on_one_page_say_whose_they_are(folder, tmp_path, monkeypatch):
    def told(*folders):
        main(["report", *folders, "--out", "all.html", "--markdown", "all.md"])
        return Path("all.md").read_text(encoding="utf-8")

    monkeypatch.chdir(tmp_path)
    copytree(folder / "run", "first")
    other = copytree(folder / "run", tmp_path / "other")
    (other / "config.json").unlink()
    rows = other / "rows.jsonl"
    lines = [json.loads(line) | {"dataset": "valve", "data_fingerprint": "f"} for line in rows.read_text().splitlines()]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (other / "results.json").unlink()
    alone = told("first")
    assert "**Policies, ranked by the log alone**" in alone and "(policies/000)" in alone
    both = told("first", "other")
    for name, path in (("log", "first"), ("valve", "other")):
        assert f"**Policies, ranked by the log alone: {name}, {path}**" in both
        assert f"\n{name}, {path}: The highest estimate" in both and f"({path}/policies/000)" in both


def test_a_ranking_of_other_policies_is_not_shown(folder, tmp_path):
    run = copytree(folder / "run", tmp_path / "run")
    rewind.load_policy(run / "policies" / "001").save(run / "policies" / "000")
    main(["report", str(run), "--markdown", str(tmp_path / "page.md")])
    told = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "is of other policies than those there now" in told and "The highest estimate" not in told
    (run / "offline.json").unlink()
    main(["report", str(run), "--markdown", str(tmp_path / "page.md")])
    assert f"`rewind evaluate {run} --offline`" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_the_verdict_says_when_the_log_cannot_tell():
    def policy(name, against_log, tied):
        return {"name": name, "estimate": [2.0, 1.0, 3.0], "against_log": against_log, "tied": tied, "concerns": []}

    first, second = policy("a", [1.0, 0.5, 1.5], True), policy("b", [0.0, -1.0, 1.0], False)
    clear = verdict({"policies": [first, second]})
    assert "estimated above each of the others" in clear and "It is estimated above the log's own policy" in clear
    unclear = verdict({"policies": [{**first, "against_log": [1.0, -0.5, 2.5]}, {**second, "tied": True}]})
    assert "cannot tell it from b" in unclear and "cannot tell it from the log's own policy" in unclear
    assert "nothing here separates them" in unclear and "the least that could be wrong" not in unclear
    doubted, clean = {**second, "tied": True, "concerns": ["few"]}, {**second, "name": "c"}
    assert "from b: prefer the one with the least that could be wrong" in verdict({"policies": [first, doubted, clean]})
    both = verdict({"policies": [{**first, "concerns": ["few"]}, doubted, clean]})
    assert "from b, and what could be wrong is the same for all of them: nothing here separates them." in both
    unseen = {**first, "supported": False, "unsupported": 0.06}
    unknown = verdict({"policies": [unseen, {**second, "supported": True}]})
    assert "In 6% of the states the log shows nothing like what a does" in unknown and "prefer b" in unknown
    assert "that holds for all of them" in verdict({"policies": [unseen, {**second, "supported": False}]})
    assert "estimate may be far off. Try" in verdict({"policies": [unseen]}) and "nothing like" not in clear


def test_where_critics_chose_better_the_page_says_what_they_choose(folder, monkeypatch):
    (training,) = read_trainings([folder / "run"])
    biases = {
        run["name"]: abs(run["value_bias"]) for run in json.loads((folder / "run/results.json").read_text())["runs"]
    }
    record, first = read_offline(folder / "run"), min(biases, key=biases.get)
    ranked = sorted(record["policies"], key=lambda policy: policy["name"] != first)
    better = {"criteria": {"fqe": {"regret": 0.4}, "value_bias": {"regret": 0.1}}}
    monkeypatch.setattr(decision, "ranking_evidence", lambda: better)
    assert "puts the same one first" in decision.second_opinion({"policies": ranked}, training)
    assert decision.second_opinion({"policies": ranked[::-1]}, training).endswith(f"puts another one first: {first}.")
    cut = [row | {"diagnostics": json.dumps(diagnostics_of(row) | {"value_rows": 1})} for row in training.rows]
    assert (
        decision.second_opinion({"policies": ranked}, training._replace(rows=cut)) == ""
    )  # time-outs hide the returns
    better["criteria"]["fqe"]["regret"] = 0.1
    assert decision.second_opinion({"policies": ranked}, training) == ""


def test_a_log_with_action_probabilities_gets_importance_sampling(tmp_path, capsys):
    stream, rows = np.random.default_rng(0), 20 * 6
    ends = np.tile(np.arange(6) == 5, 20)
    actions = stream.integers(2, size=rows)
    np.savez(
        tmp_path / "log.npz", observations=stream.standard_normal((rows, 2), np.float32), actions=actions,
        rewards=actions.astype(np.float32), terminals=ends, timeouts=np.zeros(rows, bool),
        log_prob=np.full(rows, np.log(0.5), np.float32),
    )  # fmt: skip
    run = tmp_path / "run"
    train = f"train --dataset {tmp_path}/log.npz --algorithm discrete_bc --hold-out 0.5 --steps 20 --hidden 8 8"
    main([*train.split(), *f"--batch-size 8 --fit-steps 20 --extras log_prob --out {run}".split()])
    assert "importance sampling [95%]" in capsys.readouterr().out
    main(["evaluate", str(run), "--offline", "--steps", "20"])  # loads the column again
    record = json.loads((run / "offline.json").read_text())
    assert all(len(policy["importance"]["estimate"]) == 3 for policy in record["policies"])


def test_dict_observations_on_the_disk_are_held_out_ranked_and_evaluated_again(tmp_path, capsys):
    def parts(array):
        return {"speed": array[:, :1], "level": array[:, 1:]}

    dicts = replace(DATA, observations=parts(DATA.observations), final_observations=parts(DATA.final_observations))
    save_folder(dicts, tmp_path / "log")
    main(["inspect", str(tmp_path / "log")])
    main(["train", "--dataset", str(tmp_path / "log"), *TRAIN, "--out", str(tmp_path / "run")])
    first = json.loads((tmp_path / "run" / "offline.json").read_text())
    assert first["trajectories"] == 10 and first["held_out"]
    main(["evaluate", str(tmp_path / "run"), "--offline", "--steps", "20"])
    assert json.loads((tmp_path / "run" / "offline.json").read_text())["policies"] == first["policies"]
