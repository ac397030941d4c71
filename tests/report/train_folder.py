"""Folders of `rewind train` that nobody trained."""

import json


def write_train_folder(path, alpha=2.5, **bounds):
    """What `rewind train` writes, as far as a report reads it; a real one is tested with the command itself."""
    path.mkdir(parents=True, exist_ok=True)
    described, finished = [], []
    for sampler, beta, start in (("baseline", 1.0, 0.0), ("tr", 0.5, 20.0)):
        for seed in (0, 1):
            own = {"name": sampler, "alpha": 1.0, "reuse": "on_finish", "stagger": False}
            agent = {"class": "TD3BC", "beta": beta, "alpha": alpha, **bounds}
            described.append({"name": f"{sampler} {seed}", "agent": agent, "sampler": own, "seed": seed})
            curve = {"steps": [10, 20], "scores": [start + 10, start + 10 + 20 * seed if start else 0.0]}
            finished.append({"name": f"{sampler} {seed}", "seed": seed, "alive": True, "curve": curve})
    config = {"config": {"runs": described, "block": None}, "device": "cpu", "versions": {"rewind": "test"}}
    results = {"data": {"name": "mine", "fingerprint": "f"}, "steps": 20, "batch_size": 8, "runs": finished,
               "command": {"agent": {"algorithm": "td3_bc"}, "data": {"dataset": "mine.npz"}}}  # fmt: skip
    (path / "config.json").write_text(json.dumps(config))
    (path / "results.json").write_text(json.dumps(results))
