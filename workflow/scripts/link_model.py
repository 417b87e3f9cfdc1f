"""Link a model folder."""

from thinkprior.script import light

light(
    "thinkprior.stages.pretrained:link_model",
    snakemake,
    derived=False,
    settings=snakemake.params.settings,
    source=snakemake.params.source,
    directory=snakemake.output.model,
    job_log=snakemake.log[0],
)
