"""Typeset all tables and figures."""

from thinkprior.script import light

light(
    "thinkprior.stages.document:make_document",
    snakemake,
    derived=False,
    settings=snakemake.params.settings,
    tables=snakemake.input.tables,
    figures=snakemake.input.figures,
    captions=snakemake.input.captions,
    tex=snakemake.output.tex,
)
