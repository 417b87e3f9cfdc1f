"""Draw a pool from the source."""

from thinkprior.script import light

light(
    "thinkprior.stages.problems:make_pool",
    snakemake,
    settings=snakemake.params.settings,
    source=snakemake.input.source,
    benchmarks={k: v for k, v in snakemake.input.items() if k != "source"},
    pool=snakemake.output[0],
)
