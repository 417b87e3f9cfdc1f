"""Generate the source of the pools and the benchmarks."""

from thinkprior.script import light

light(
    "thinkprior.stages.problems:make_problems",
    snakemake,
    settings=snakemake.params.settings,
    source=snakemake.output.source,
    benchmarks={k: v for k, v in snakemake.output.items() if k not in ("source", "record")},
)
