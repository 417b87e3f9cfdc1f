"""Render the window rates and the coverage."""

from thinkprior.script import light

CAMPAIGNS = list(snakemake.params.runs)

light(
    "thinkprior.stages.text_figures:render_windows",
    snakemake,
    settings=snakemake.params.settings,
    runs=snakemake.params.runs,
    groups={name: list(snakemake.input.get(f"{name}_groups", [])) for name in CAMPAIGNS},
    metrics={name: snakemake.input[name] for name in CAMPAIGNS},
    steps={name: snakemake.input[f"{name}_steps"] for name in CAMPAIGNS},
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
