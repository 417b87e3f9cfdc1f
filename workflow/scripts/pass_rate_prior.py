"""Make the prior that is a model's own pass rate."""

from thinkprior.script import light

light(
    "thinkprior.stages.priors:make_pass_rate_prior",
    snakemake,
    pool=snakemake.input.pool,
    responses=snakemake.input.responses,
    prior=snakemake.output[0],
)
