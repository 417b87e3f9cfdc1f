"""Train a miniature model."""

from thinkprior.script import heavy, state_folder

heavy(
    "thinkprior.stages.models:train_model",
    snakemake,
    name=snakemake.wildcards.model,
    settings=snakemake.params.settings,
    code=snakemake.params.code,
    held_out=list(snakemake.input),
    directory=snakemake.output.model,
    state=state_folder(snakemake),
)
