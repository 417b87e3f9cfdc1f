"""ThinkPrior: zero-rollout difficulty priors for cold-start prompt selection in RLVR."""

from snakemake.utils import min_version

min_version("9.10")


if "scale" not in config:

    configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/probing.smk"
include: "workflow/rules/priors.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/metrics.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"


rule all:
    default_target: True
    input:
        expand("results/table{number}.{ending}", number=[1, 2], ending=["tex", "csv"]),
        expand(
            "results/figure{number}.{ending}",
            number=[2, 3],
            ending=["pdf", "png", "csv"],
        ),
        "results/world.csv",
        "results/timing.csv",
