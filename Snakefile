"""ThinkPrior: zero-rollout difficulty priors for cold-start prompt selection in RLVR."""

from snakemake.utils import min_version

min_version("9.10")


if "scale" not in config:

    configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/downloads.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/pretrained.smk"
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
include: "workflow/rules/plan.smk"
include: "workflow/rules/machine.smk"


onstart:
    check_machine()
    check_downloads()


rule all:
    default_target: True
    input:
        [f"results/{name}" for name in availability.targets(settings)],
