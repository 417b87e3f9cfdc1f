"""Render Appendix B."""

from thinkprior.script import light

light(
    "thinkprior.stages.pool_figures:render_appendix_b",
    snakemake,
    settings=snakemake.params.settings,
    pool=snakemake.input.pool,
    reference=snakemake.input.reference,
    anchor=snakemake.input.anchor,
    thinking=snakemake.input.thinking,
    lengths=snakemake.input.lengths,
    seeds=snakemake.params.seeds,
    groups=snakemake.input.get("groups", []),
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
    underestimated_csv=snakemake.output.underestimated_csv,
    underestimated_tex=snakemake.output.underestimated_tex,
)
