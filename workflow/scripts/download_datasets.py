"""Fetch public data sets."""

from thinkprior.script import light

light(
    "thinkprior.stages.downloads:download_datasets",
    snakemake,
    settings=snakemake.params.settings,
    manifest=snakemake.output[0],
    job_log=snakemake.log[0],
)
