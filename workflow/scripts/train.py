"""Train one run of one arm."""

from thinkprior.script import heavy, state_folder

INPUTS = ("policy", "pool", "prior")

heavy(
    "thinkprior.stages.runs:train_run",
    snakemake,
    settings=snakemake.params.settings,
    code=snakemake.params.code,
    policy=snakemake.params.policy,
    pool=snakemake.input.pool,
    prior=snakemake.input.prior or None,
    benchmarks={k: v for k, v in snakemake.input.items() if k not in INPUTS},
    outputs={k: v for k, v in snakemake.output.items() if k not in ("usage", "record")},
    state=state_folder(snakemake),
    # From the whole configuration: a parameter that changes would train the run anew.
    state_every=snakemake.config["training"]["state_every"],
)
