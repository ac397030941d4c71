"""d3rlpy's TD3+BC and IQL, trained in Rewind's order.

python examples/d3rlpy_td3_bc.py --algorithm td3_bc --priority lower_uqm_unc --beta 0.75
"""

from __future__ import annotations

import argparse
from typing import Any

import d3rlpy
import torch
from d3rlpy.algos import IQLConfig, TD3PlusBCConfig
from d3rlpy.logging import NoopAdapterFactory
from d3rlpy.models import VectorEncoderFactory

from point_data import data_score, point_data, score
from rewind import TrajectoryReplay
from rewind.integrations.d3rlpy import TrajectoryBuffer, use_weighted_target


def make(algorithm: str, batch_size: int) -> Any:
    networks = VectorEncoderFactory([64, 64])
    shared = {"batch_size": batch_size, "actor_encoder_factory": networks, "critic_encoder_factory": networks}
    if algorithm == "iql":
        shared |= {"value_encoder_factory": networks, "expectile": 0.9, "weight_temp": 10.0}
        return IQLConfig(actor_learning_rate=1e-3, critic_learning_rate=1e-3, **shared).create()
    return TD3PlusBCConfig(actor_learning_rate=1e-3, critic_learning_rate=1e-3, **shared).create()


def train(
    algorithm: str = "td3_bc",
    priority: str = "uniform",
    beta: float = 1.0,
    steps: int = 2000,
    batch_size: int = 64,
    seed: int = 0,
) -> dict[str, Any]:
    """Train on the point task; returns the critics' losses by epoch and the scores of the data and of the policy."""
    d3rlpy.seed(seed)
    data = point_data()
    algo = make(algorithm, batch_size)
    buffer = TrajectoryBuffer(data, TrajectoryReplay(priority, seed=seed))  # instead of d3rlpy's own dataset
    if beta < 1:  # the weighted target instead of the one-step target
        algo.build_with_dataset(buffer)
        use_weighted_target(algo, beta)
    epochs = algo.fit(
        buffer,
        n_steps=steps,
        n_steps_per_epoch=max(1, steps // 10),
        callback=buffer.update_uncertainty,  # for the *_unc priorities
        logger_adapter=NoopAdapterFactory(),
        show_progress=False,
    )
    losses = [metrics["critic_loss"] for _, metrics in epochs]
    return {"losses": losses, "data_score": data_score(data), "score": score(algo.predict), "buffer": buffer}


def main() -> None:
    parser = argparse.ArgumentParser(description="d3rlpy on a tiny task, in Rewind's order")
    parser.add_argument("--algorithm", choices=("td3_bc", "iql"), default="td3_bc")
    parser.add_argument("--priority", default="uniform", help="as for TrajectoryReplay, e.g. uqm_reward, lower_uqm_unc")
    parser.add_argument("--beta", type=float, default=1.0, help="weight of the bootstrap in the target, 0 to 1")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)  # the fastest for networks this small
    result = train(options.algorithm, options.priority, options.beta, options.steps, seed=options.seed)
    first, last = result["losses"][0], result["losses"][-1]
    print(f"critic loss: {first:.3f} in the first tenth of {options.steps} steps, {last:.3f} in the last")
    print(f"mean return: {result['data_score']:.1f} in the data, {result['score']:.1f} of the policy")


if __name__ == "__main__":
    main()
