"""Train a miniature model."""

from thinkprior.script import heavy

heavy(
    "thinkprior.stages.models:train_model",
    snakemake.log[0],
    name=snakemake.wildcards.model,
    settings=snakemake.params.settings,
    held_out=list(snakemake.input),
    directory=snakemake.output[0],
)
