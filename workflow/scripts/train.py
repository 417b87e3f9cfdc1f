"""Train one run of one arm."""

from thinkprior.script import heavy

INPUTS = ("policy", "pool", "prior")

heavy(
    "thinkprior.stages.runs:train_run",
    snakemake.log[0],
    settings=snakemake.params.settings,
    code=snakemake.params.code,
    policy=snakemake.params.policy,
    pool=snakemake.input.pool,
    prior=snakemake.input.prior or None,
    benchmarks={k: v for k, v in snakemake.input.items() if k not in INPUTS},
    outputs=dict(snakemake.output.items()),
)
