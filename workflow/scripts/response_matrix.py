"""Gather the respondents' answers."""

from thinkprior.script import light

light(
    "thinkprior.stages.priors:make_response_matrix",
    snakemake,
    pool=snakemake.input.pool,
    responses=dict(zip(snakemake.params.respondents, snakemake.input.responses, strict=True)),
    matrix=snakemake.output[0],
)
