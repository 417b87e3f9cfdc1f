"""Write the report."""

from pathlib import Path

from thinkprior.script import light

light(
    "thinkprior.stages.report:make_report",
    snakemake,
    configuration=snakemake.params.configuration,
    code=snakemake.params.code,
    folder=str(Path(snakemake.output.report).parent),
    manifests=snakemake.input.manifests,
    captions=snakemake.input.captions,
    decisions=snakemake.input.decisions,
    notes=snakemake.input.notes,
    template=snakemake.input.template,
    style=snakemake.input.style,
    script=snakemake.input.script,
    report=snakemake.output.report,
)
