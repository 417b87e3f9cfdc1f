"""Gather the metrics of a campaign."""

from thinkprior.script import light

light(
    "thinkprior.stages.metrics:gather_metrics",
    snakemake,
    campaign=snakemake.wildcards.campaign,
    runs=snakemake.params.runs,
    groups=list(snakemake.input.get("groups", [])),
    steps=list(snakemake.input.get("steps", [])),
    scores=list(snakemake.input.get("scores", [])),
    run_table=snakemake.output.runs,
    step_table=snakemake.output.steps,
    checkpoint_table=snakemake.output.checkpoints,
)
