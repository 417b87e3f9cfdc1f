"""Make the source of the pools and the benchmarks of public data sets."""

from thinkprior.script import light

NOT_BENCHMARKS = ("source", "changes", "record")

light(
    "thinkprior.stages.datasets:make_datasets",
    snakemake,
    settings=snakemake.params.settings,
    local={k: v for k, v in snakemake.input.items() if k != "manifest"},
    manifest=snakemake.input.get("manifest"),
    source=snakemake.output.get("source"),
    benchmarks={k: v for k, v in snakemake.output.items() if k not in NOT_BENCHMARKS},
    changes=snakemake.output.changes,
    job_log=snakemake.log[0],
)
