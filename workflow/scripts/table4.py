"""Render Table 4."""

from thinkprior.script import light

light(
    "thinkprior.stages.text_figures:render_table4",
    snakemake,
    settings=snakemake.params.settings,
    runs=snakemake.params.runs,
    metrics=snakemake.input.metrics,
    timings=list(snakemake.input.get("timings", [])),
    manifests=list(snakemake.input.get("manifests", [])),
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
