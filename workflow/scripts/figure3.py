"""Draw Figure 3."""

from thinkprior.script import light

light(
    "thinkprior.stages.rendering:render_figure3",
    snakemake,
    settings=snakemake.params.settings,
    main=snakemake.input.main,
    reestimate=snakemake.input.reestimate,
    pdf=snakemake.output.pdf,
    png=snakemake.output.png,
    csv=snakemake.output.csv,
)
