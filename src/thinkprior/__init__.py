"""Zero-rollout difficulty priors for cold-start prompt selection in RLVR."""
