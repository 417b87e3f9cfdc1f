"""Make a prior from the item bank."""

from thinkprior.script import light

light(
    "thinkprior.stages.priors:make_bank_prior",
    snakemake,
    sharpening=snakemake.params.sharpening,
    pool=snakemake.input.pool,
    bank=snakemake.input.bank,
    prior=snakemake.output[0],
)
