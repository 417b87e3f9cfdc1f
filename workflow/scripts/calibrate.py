"""Answer and grade the calibration grid of one template."""

from thinkprior.script import heavy

heavy(
    "thinkprior.stages.calibration:calibrate_template",
    snakemake,
    name=snakemake.wildcards.template,
    settings=snakemake.params.settings,
    policy=snakemake.params.policy,
    benchmark=snakemake.input.benchmark,
    pool=snakemake.input.pool,
    cells=snakemake.output.cells,
)
