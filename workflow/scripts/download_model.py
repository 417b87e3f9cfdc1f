"""Fetch a model from the hub."""

from thinkprior.script import light

light(
    "thinkprior.stages.pretrained:download_model",
    snakemake,
    derived=False,
    settings=snakemake.params.settings,
    directory=snakemake.output.model,
    job_log=snakemake.log[0],
)
