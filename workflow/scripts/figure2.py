"""Draw Figure 2."""

from thinkprior.script import light

light(
    "thinkprior.stages.rendering:render_figure2",
    snakemake,
    settings=snakemake.params.settings,
    metrics=snakemake.input.metrics,
    checkpoints=snakemake.input.checkpoints,
    pdf=snakemake.output.pdf,
    png=snakemake.output.png,
    csv=snakemake.output.csv,
)
