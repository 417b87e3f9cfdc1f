"""Evaluate the adapters of one run."""

from thinkprior.script import heavy, state_folder

INPUTS = ("policy", "checkpoints")

heavy(
    "thinkprior.stages.evaluations:evaluate_run",
    snakemake,
    settings=snakemake.params.settings,
    code=snakemake.params.code,
    policy=snakemake.params.policy,
    checkpoints=snakemake.input.checkpoints,
    benchmarks={k: v for k, v in snakemake.input.items() if k not in INPUTS},
    scores=snakemake.output.scores,
    answers=snakemake.output.answers,
    state=state_folder(snakemake),
    training_state=state_folder(snakemake, "train"),
)
