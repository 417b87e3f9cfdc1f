"""Make the length prior."""

from thinkprior.script import light

light(
    "thinkprior.stages.priors:make_length_prior",
    snakemake,
    settings=snakemake.params.settings,
    pool=snakemake.input.pool,
    thinking=snakemake.input.thinking,
    reference=snakemake.input.reference,
    model=snakemake.params.model,
    prior=snakemake.output.prior,
    lengths=snakemake.output.lengths,
)
