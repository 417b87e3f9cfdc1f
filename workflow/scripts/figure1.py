"""Draw Figure 1."""

from thinkprior.script import light

light(
    "thinkprior.stages.pool_figures:render_figure1",
    snakemake,
    settings=snakemake.params.settings,
    pool=snakemake.input.pool,
    anchor=snakemake.input.anchor,
    campaign=snakemake.params.campaign,
    seed=snakemake.params.seed,
    groups=dict(zip(snakemake.params.arms, snakemake.input.groups, strict=True)),
    pdf=snakemake.output.pdf,
    png=snakemake.output.png,
    csv=snakemake.output.csv,
)
