"""Render Table 2."""

from thinkprior.script import light

light(
    "thinkprior.stages.rendering:render_table2",
    snakemake,
    settings=snakemake.params.settings,
    statistics=snakemake.params.statistics,
    metrics=snakemake.input.metrics,
    checkpoints=snakemake.input.checkpoints,
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
