"""Render the table of the evaluation protocol."""

from thinkprior.script import light

light(
    "thinkprior.stages.protocol:render_protocol",
    snakemake,
    settings=snakemake.params.settings,
    runs=snakemake.params.runs,
    scores={name: list(snakemake.input.get(name, [])) for name in snakemake.params.runs},
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
