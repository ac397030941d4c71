"""What `rewind train` takes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from rewind.cli.arguments import alias
from rewind.cli.reader_options import ReaderOptions
from rewind.data.boundaries import Boundaries


@dataclass(frozen=True)
class DataOptions:
    """What to learn from."""

    dataset: str
    """A .csv, .parquet, .hdf5 or .npz file, a Minari or LeRobot folder, a Minari id, or a catalogued or rebuilt data
    set's name (rewind data list)."""
    boundaries: Boundaries | None = None
    """Where trajectories end in flat data; default: the catalogue's rule, otherwise flags."""
    merge_fragments: bool | None = None
    """Join one-step successes to the trajectory they go on from; default: the catalogue's rule, otherwise no."""
    keys: tuple[str, ...] | None = None
    """For dict observations: the keys to put side by side, in this order."""
    rewards: str | None = None
    """What the agent sees of the rewards: raw, minus_one (r - 1), times_100 (r * 100) or return_range (r * 1000
    over the spread of the returns); default: the paper's for this data set, otherwise raw."""
    normalise_states: bool | None = None
    """Observations minus their mean, divided by their standard deviation; default: the paper's for this data set,
    otherwise yes for td3_bc and iql."""
    top: float = 1.0
    """Only this fraction of the trajectories, the best by return."""
    action_bounds: tuple[tuple[float, float], ...] | None = None
    """The smallest and the largest action of each column, such as 0 100 0 1 for two columns; default: -1 and 1, or
    those of the data where it goes beyond."""
    hold_out: float = 0.0
    """Never train on this fraction of the trajectories, such as 0.1: diagnostics and offline evaluation use them."""
    hold_out_seed: int = 0
    """Which trajectories are held out."""


@dataclass(frozen=True)
class AgentOptions:
    """What learns. Several samplers, betas, seeds and numbers make all combinations, trained together."""

    algorithm: str = "td3_bc"
    """td3_bc, iql, edac, rebrac or bc; for discrete actions dqn, discrete_iql or discrete_bc."""
    betas: Annotated[tuple[float | Literal["paper"], ...], alias("--beta")] = (1.0,)
    """Weights of the weighted target (eq. 4): 1 is one-step, 0 is SARSA; paper: the paper's for this data set."""
    seeds: tuple[int, ...] = (0,)
    """One run for each: of its network, its memory and its evaluation."""
    steps: int = 1_000_000
    """Updates."""
    batch_size: int | None = None
    """Slots: transitions per update; default: the paper's for this data set (256, but for rebrac on MuJoCo)."""
    hidden: tuple[int, ...] | None = None
    """Sizes of the hidden layers, one number for each; default: the algorithm's."""
    layer_norm: bool | None = None
    """Layer norm in the critics, against diverging Q; default: the algorithm's (td3_bc, iql, edac: none)."""
    window: int | None = None
    """Recompute the weighted target over so many rows from target networks, instead of carrying it along sweeps: for
    any sampler, at the cost of so many bootstraps. With a beta of 0: the n-step return."""
    bounded: bool = False
    """Keep the critics' targets within what the rewards of the data can add up to: Q cannot run away (td3_bc, iql)."""
    set: tuple[str, ...] = ()
    """Numbers of the agent over the paper's, as NAME=NUMBER, or NAME=NUMBER,NUMBER to try several: alpha=1,2.5
    critic_rate=3e-4."""


@dataclass(frozen=True)
class MemoryOptions:
    """Which transition comes next."""

    samplers: Annotated[tuple[str, ...], alias("--priority")] = ("tr",)
    """baseline (transitions, uniformly), tr (Trajectory Replay), a priority such as uqm_reward or lower_uqm_unc (PTR),
    or paper or auto (chosen from the data as the paper advises, or as our runs do)."""
    recommended: bool = False
    """Sampler, beta, stagger, bounds and layer norm as our runs recommend for such data (provisional); prints why."""
    rank_exponent: float = 1.0
    """Exponent of the ranks (eq. 5)."""
    reuse: str = "on_finish"
    """When a trajectory is available again: on_finish of its sweep, epoch (when all were used), or replacement."""
    stagger: bool = False
    """Start first sweeps at random steps instead of the last ones."""
    order: str = "backward"
    """Of the rows of a sweep; to compare: forward or shuffled, with betas of 1 only."""
    weighting: str = "rank"
    """How priorities become probabilities: by rank (eq. 5), softmax, or proportional."""
    weighting_temperature: float = 1.0
    """Of softmax and proportional; a small one prefers the best more."""
    block: int | None = None
    """Steps planned at once; default 1000, or 100 where ranks follow the critics."""


@dataclass(frozen=True)
class EvaluationOptions:
    """How policies are judged: the mean of evaluations at the end, 1000 steps apart, five of them, as in the paper."""

    env: str = "auto"
    """A data set or Gymnasium id to play in; auto: the data's own where it is known; none: look at the data only."""
    evaluate_every: int | None = None
    """Evaluate also every so many steps, for the curve; default: a twentieth of all, or as before where
    training is resumed. 0: never."""
    episodes: int = 10
    """Episodes per evaluation and run."""
    evaluation_seed: int = 0
    """Where first states come from. Runs of the same seed play the same episodes."""
    fit_steps: int = 5_000
    """With --hold-out and without a simulator: updates of fitted Q evaluation at the end, which ranks the policies.
    0: none; `rewind evaluate --offline` does it later."""


@dataclass(frozen=True)
class OutputOptions:
    """Where results go, and where the work is done."""

    out: Path | None = None
    """Folder for configuration, metrics, checkpoints, results and policies; default: runs/DATA-ALGORITHM."""
    resume: bool = False
    """Go on from the last checkpoint in that folder, or begin where there is none. The configuration must be the same,
    but --steps may be more."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints."""
    log_every: int = 1000
    """Steps between lines of metrics."""
    json: Path | None = None
    """Also write the results to this file."""
    tensorboard: bool = False
    """Also write metrics for TensorBoard."""
    wandb: str | None = None
    """Also send metrics to this project of Weights & Biases."""
    device: str | None = None
    """cpu or gpu; default: what JAX prefers."""
    deterministic: bool = False
    """The same bits on a GPU too, run by run and after --resume, at some cost."""
    fused: bool = False
    """Networks as single kernels, with products of bfloat16 numbers: faster for many runs on an NVIDIA GPU."""


@dataclass(frozen=True)
class TrainOptions:
    """All of them."""

    data: DataOptions
    reader: ReaderOptions = field(default_factory=ReaderOptions)
    agent: AgentOptions = field(default_factory=AgentOptions)
    memory: MemoryOptions = field(default_factory=MemoryOptions)
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
