"""Render Appendix E."""

from thinkprior.script import light

light(
    "thinkprior.stages.text_figures:render_appendix_e",
    snakemake,
    settings=snakemake.params.settings,
    metrics=snakemake.input.metrics,
    steps=snakemake.input.steps,
    checkpoints=snakemake.input.checkpoints,
    pool=snakemake.input.pool,
    prior=snakemake.input.prior,
    old_pass=snakemake.input.old_pass,
    new_pass=snakemake.input.new_pass,
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
