"""Verify the artifacts of a scale."""

from thinkprior.script import light

light(
    "thinkprior.stages.integrity:verify_scale",
    snakemake,
    folder=snakemake.params.folder,
)
