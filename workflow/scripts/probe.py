"""Probe a model on a pool."""

from thinkprior.script import heavy, state_folder

heavy(
    "thinkprior.stages.responses:probe_model",
    snakemake,
    name=snakemake.params.name,
    settings=snakemake.params.settings,
    code=snakemake.params.code,
    model=snakemake.params.model,
    pool=snakemake.input.pool,
    responses=snakemake.output.responses,
    state=state_folder(snakemake),
)
