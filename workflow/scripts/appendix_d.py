"""Render Appendix D."""

from thinkprior.script import light

light(
    "thinkprior.stages.robustness:render_appendix_d",
    snakemake,
    settings=snakemake.params.settings,
    checkpoints=snakemake.input.get("checkpoints", []),
    manifests=snakemake.input.get("manifests", []),
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
