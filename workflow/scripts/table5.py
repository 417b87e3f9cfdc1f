"""Render Table 5."""

from thinkprior.script import light

light(
    "thinkprior.stages.pool_figures:render_table5",
    snakemake,
    settings=snakemake.params.settings,
    pool=snakemake.input.pool,
    reference=snakemake.input.reference,
    priors={name: snakemake.input[name] for name in ("anchor", "bank", "length")},
    lengths=snakemake.input.lengths,
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
