"""Render Table 3."""

from thinkprior.script import light

light(
    "thinkprior.stages.robustness:render_table3",
    snakemake,
    settings=snakemake.params.settings,
    runs=snakemake.input.get("runs", []),
    checkpoints=snakemake.input.get("checkpoints", []),
    steps=snakemake.input.get("steps", []),
    priors=dict(zip(snakemake.params.anchors, snakemake.input.get("priors", []), strict=True)),
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
