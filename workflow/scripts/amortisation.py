"""Render the amortisation figures."""

from thinkprior.script import light

light(
    "thinkprior.stages.text_figures:render_amortisation",
    snakemake,
    settings=snakemake.params.settings,
    runs=snakemake.params.runs,
    metrics=snakemake.input.metrics,
    timings=list(snakemake.input.get("timings", [])),
    manifests=list(snakemake.input.get("manifests", [])),
    anchor=snakemake.input.anchor,
    anchor_benchmark=snakemake.input.anchor_benchmark,
    lengths=snakemake.input.lengths,
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
