"""The twelve priorities of the paper, in its order: those that other packages add do not enter its tables."""

PRIORITIES = (
    "return",
    "avg_reward",
    "uqm_reward",
    "uhm_reward",
    "min_reward",
    "max_reward",
    "lower_mean_unc",
    "lower_lqm_unc",
    "lower_uqm_unc",
    "higher_mean_unc",
    "higher_lqm_unc",
    "higher_uqm_unc",
)
