"""Metrics of a campaign: every economy figure from the groups logs."""


localrules:
    metrics,


rule metrics:
    input:
        unpack(
            lambda wildcards: run_files(
                wildcards.campaign, "groups.parquet", "steps.parquet", "scores.csv"
            )
        ),
    output:
        runs=under("metrics/{campaign}.csv"),
        steps=under("metrics/{campaign}.steps.csv"),
        checkpoints=under("metrics/{campaign}.checkpoints.csv"),
        record=under("records/metrics/{campaign}.json"),
    log:
        under("logs/metrics/{campaign}.log"),
    conda:
        environment
    params:
        runs=lambda wildcards: runs_of(wildcards.campaign),
        code=code_digest("thinkprior.stages.metrics"),
    message:
        "Metrics of campaign {wildcards.campaign}"
    script:
        "../scripts/metrics.py"
