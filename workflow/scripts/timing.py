"""Sum up where the time went."""

from thinkprior.script import light

light(
    "thinkprior.stages.timing:measure_time",
    snakemake.log[0],
    benchmarks={k: list(v) for k, v in snakemake.input.items() if k != "timings"},
    timings=list(snakemake.input.timings),
    table=snakemake.output[0],
)
