"""Small things that show the idea: the demo, the paper's toy example, pictures of sweeps."""
