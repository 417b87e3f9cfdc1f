"""ThinkPrior: zero-rollout difficulty priors for cold-start prompt selection in RLVR."""

from snakemake.utils import min_version

min_version("9.10")


if "scale" not in config:

    configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/probing.smk"
include: "workflow/rules/priors.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/metrics.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/protocol.smk"
include: "workflow/rules/calibration.smk"
include: "workflow/rules/robustness.smk"
include: "workflow/rules/text_figures.smk"
include: "workflow/rules/pool_figures.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/cost.smk"
include: "workflow/rules/reproduction.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/document.smk"
include: "workflow/rules/integrity.smk"


rule all:
    default_target: True
    input:
        expand(
            "results/{table}.{ending}",
            table=[
                *("table1", "table2", "table3", "table4", "table5"),
                *("appendixB", "underestimated", "appendixD", "appendixE"),
                *("windows", "amortisation", "cost", "protocol"),
            ],
            ending=["tex", "csv"],
        ),
        expand(
            "results/{figure}.{ending}",
            figure=["figure1", "figure2", "figure3", "cost-figure"],
            ending=["pdf", "png", "csv"],
        ),
        expand("results/{name}.csv", name=["world", "claims", "reproduction"]),
        "results/reproduction.md",
        "results/report.html",
