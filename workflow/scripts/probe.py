"""Probe a model on a pool."""

from thinkprior.script import heavy

heavy(
    "thinkprior.stages.responses:probe_model",
    snakemake.log[0],
    name=f"{snakemake.wildcards.kind} {snakemake.wildcards.reference}",
    settings=snakemake.params.settings,
    model=snakemake.params.model,
    pool=snakemake.input.pool,
    responses=snakemake.output[0],
)
