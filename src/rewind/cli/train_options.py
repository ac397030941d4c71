"""The options of `rewind train`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from rewind.cli.arguments import Rare, alias
from rewind.cli.reader_options import ReaderOptions
from rewind.data.boundaries import Boundaries


@dataclass(frozen=True)
class DataOptions:
    """The data to learn from."""

    dataset: str
    """A .csv, .parquet, .hdf5, .npz or .json (RLlib) file, a Minari, LeRobot or RLlib folder, a Minari id, or a name
    that rewind data list prints."""
    boundaries: Rare[Boundaries | None] = None
    """Where trajectories end in flat data. Default: the catalogue's rule, otherwise flags."""
    merge_fragments: Rare[bool | None] = None
    """Join one-step successes to the trajectory before them. Default: the catalogue's rule, otherwise no."""
    keys: Rare[tuple[str, ...] | None] = None
    """For dict observations: the keys to concatenate, in this order."""
    rewards: Rare[str | None] = None
    """Transform of the rewards: raw, minus_one (r - 1), times_100 (r * 100) or return_range (r * 1000 / range of
    the returns). Default: the paper's for this data set, otherwise raw."""
    normalise_states: Rare[bool | None] = None
    """Subtract the mean of the observations and divide by their standard deviation. Default: the paper's for this data
    set, otherwise True for td3_bc and iql."""
    top: Rare[float] = 1.0
    """Train on this fraction of the trajectories, the best by return."""
    action_bounds: Rare[tuple[tuple[float, float], ...] | None] = None
    """Smallest and largest action of each column, such as 0 100 0 1 for two columns. Default: -1 and 1, or the
    data's own bounds if they are wider."""
    hold_out: float = 0.0
    """Never train on this fraction of the trajectories, such as 0.1: diagnostics and offline evaluation use them."""
    hold_out_seed: Rare[int] = 0
    """Which trajectories are held out."""


@dataclass(frozen=True)
class AgentOptions:
    """The agent and its numbers."""

    algorithm: str = "td3_bc"
    """td3_bc, iql, edac, rebrac or bc. For discrete actions: dqn, discrete_iql or discrete_bc."""
    betas: Annotated[tuple[float | Literal["paper"], ...], alias("--beta")] = (1.0,)
    """Weight of the bootstrap in the weighted target: 1 is the one-step target, 0 is SARSA, paper is the paper's value
    for this data set."""
    seeds: tuple[int, ...] = (0,)
    """One run for each of these seeds."""
    steps: int = 1_000_000
    """Updates of each run. On a CPU start with 100000."""
    batch_size: int | None = None
    """Transitions per update. Default: the paper's for this data set (256; more for rebrac on MuJoCo)."""
    hidden: Rare[tuple[int, ...] | None] = None
    """Sizes of the hidden layers. Default: the algorithm's."""
    layer_norm: Rare[bool | None] = None
    """Layer norm in the critics. Use it if critics diverge. Default: the algorithm's (td3_bc, iql, edac: False)."""
    window: Rare[int | None] = None
    """Recompute the weighted target over this many rows instead of carrying it along sweeps. Works with any sampler
    and costs this many bootstraps per row. With a beta of 0: the n-step return."""
    bounded: bool = False
    """Clip the critics' targets to the returns that the rewards allow (not edac). For critics that diverge; it can
    lower scores."""
    set: tuple[str, ...] = ()
    """Hyper-parameters of the agent, as NAME=NUMBER, or NAME=NUMBER,NUMBER to try several: alpha=1,2.5
    critic_rate=3e-4."""


@dataclass(frozen=True)
class MemoryOptions:
    """The memory that chooses the transitions."""

    samplers: Annotated[tuple[str, ...] | None, alias("--priority")] = None
    """baseline (uniform over transitions), tr (Trajectory Replay), a priority such as uqm_reward or lower_uqm_unc
    (Prioritized Trajectory Replay), or a choice from the data: paper (the paper's advice) or auto (ours). Default:
    tr."""
    recommended: bool = False
    """Set sampler, beta, stagger, bounds and layer norm as our runs recommend for such data, and print why."""
    rank_exponent: Rare[float] = 1.0
    """Exponent of the ranks: 0 ignores priorities, a larger one favours the best more."""
    reuse: Rare[str] = "on_finish"
    """When a trajectory is available again: on_finish (of its sweep), epoch (when all were used) or replacement."""
    stagger: Rare[bool] = False
    """Start the first sweeps at random steps instead of the last ones."""
    order: Rare[str] = "backward"
    """Order of the rows of a sweep. For comparison: forward or shuffled, with a beta of 1 or a --window."""
    weighting: Rare[str] = "rank"
    """How priorities become probabilities: rank, softmax or proportional."""
    weighting_temperature: Rare[float] = 1.0
    """Temperature of softmax and proportional: a smaller one favours the best more."""
    block: Rare[int | None] = None
    """Steps planned at once. Default: 1000, or 100 if the priority depends on the critics."""

    @property
    def chosen(self) -> tuple[str, ...]:
        """The samplers, or the default."""
        return ("tr",) if self.samplers is None else self.samplers


@dataclass(frozen=True)
class EvaluationOptions:
    """How policies are evaluated."""

    env: str = "auto"
    """Simulator: a Gymnasium id or a data set's name; auto: the data's own if it is known; none: no simulator."""
    evaluate_every: Rare[int | None] = None
    """Steps between evaluations for the curve, 0 for none. Default: a twentieth of all steps, or as before if training
    is resumed."""
    episodes: int = 10
    """Episodes per evaluation and run."""
    evaluation_seed: Rare[int] = 0
    """Seed of the simulator. Runs with the same seed are evaluated on the same episodes."""
    fit_steps: Rare[int] = 5_000
    """With --hold-out and without a simulator: updates of fitted Q evaluation at the end, which ranks the policies.
    0: none; `rewind evaluate --offline` does it later."""


@dataclass(frozen=True)
class OutputOptions:
    """The folder of results, and the device."""

    out: Path | None = None
    """Folder for configuration, metrics, checkpoints, results and policies. Default: runs/DATA-ALGORITHM-DIGEST."""
    resume: bool = False
    """Continue from the last checkpoint in that folder, or start if there is none. The options must be the same;
    --steps may be larger."""
    checkpoint_minutes: Rare[float] = 5.0
    """Minutes between checkpoints."""
    log_every: Rare[int] = 1000
    """Steps between records of metrics."""
    json: Rare[Path | None] = None
    """Also write the results to this file."""
    tensorboard: Rare[bool] = False
    """Also write metrics for TensorBoard."""
    wandb: Rare[str | None] = None
    """Also send metrics to this project of Weights & Biases."""
    device: Rare[str | None] = None
    """cpu or gpu. Default: JAX's choice."""
    deterministic: Rare[bool] = False
    """Give the same bits on a GPU in every repetition and after --resume; slower."""
    fused: Rare[bool] = False
    """Compute networks as single GPU kernels in bfloat16: faster for many runs on an NVIDIA GPU."""


@dataclass(frozen=True)
class TrainOptions:
    """All options, in groups."""

    data: DataOptions
    agent: AgentOptions = field(default_factory=AgentOptions)
    memory: MemoryOptions = field(default_factory=MemoryOptions)
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    reader: ReaderOptions = field(default_factory=ReaderOptions)
