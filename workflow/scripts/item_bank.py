"""Fit the 2PL item bank."""

from thinkprior.script import light

light(
    "thinkprior.stages.priors:fit_item_bank",
    snakemake,
    pool=snakemake.input.pool,
    matrix=snakemake.input.matrix,
    bank=snakemake.output.bank,
    report=snakemake.output.report,
)
