"""Add up what everything cost."""

from thinkprior.script import light


def inputs(prefix):
    """Input files whose names start with a prefix, under the rest of the name."""
    return {
        name.removeprefix(prefix): list(files)
        for name, files in snakemake.input.items()
        if name.startswith(prefix)
    }


light(
    "thinkprior.stages.cost:render_cost",
    snakemake,
    settings=snakemake.params.settings,
    runs=snakemake.params.runs,
    passes=snakemake.params.passes,
    benchmarks=inputs("benchmark_"),
    usage=inputs("usage_"),
    logs=inputs("log_"),
    responses=list(snakemake.input.get("responses", [])),
    metrics=snakemake.input.metrics,
    checkpoints=snakemake.input.checkpoints,
    outputs={k: v for k, v in snakemake.output.items() if k not in ("record", "caption")},
)
