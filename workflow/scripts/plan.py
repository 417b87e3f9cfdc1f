"""Print what the jobs of a scale will take."""

from thinkprior.script import light

light(
    "thinkprior.stages.plan:print_plan",
    snakemake,
    config=snakemake.config,
    folder=snakemake.params.folder,
)
