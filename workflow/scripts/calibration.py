"""Render the calibration table."""

from thinkprior.script import light

light(
    "thinkprior.stages.calibration:render_calibration",
    snakemake,
    settings=snakemake.params.settings,
    cells=dict(zip(snakemake.params.templates, snakemake.input, strict=True)),
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
