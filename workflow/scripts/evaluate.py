"""Evaluate the adapters of one run."""

from thinkprior.script import heavy

INPUTS = ("policy", "checkpoints")

heavy(
    "thinkprior.stages.evaluations:evaluate_run",
    snakemake.log[0],
    settings=snakemake.params.settings,
    policy=snakemake.params.policy,
    checkpoints=snakemake.input.checkpoints,
    benchmarks={k: v for k, v in snakemake.input.items() if k not in INPUTS},
    scores=snakemake.output.scores,
    answers=snakemake.output.answers,
)
