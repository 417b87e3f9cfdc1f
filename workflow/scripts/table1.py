"""Render Table 1."""

from thinkprior.script import light

light(
    "thinkprior.stages.rendering:render_table1",
    snakemake,
    settings=snakemake.params.settings,
    metrics=snakemake.input.metrics,
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
