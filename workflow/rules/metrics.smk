"""Metrics of a campaign: every economy figure from the groups logs."""


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


rule timing:
    input:
        model=[under(f"benchmarks/model/{name}.tsv") for name in models_in_use()],
        probe=[
            under(f"benchmarks/probe/pool250.{kind}.{full_reference(reference)}.tsv")
            for kind, reference in probes_in_use()
        ],
        train=[under(f"benchmarks/train/{run}.tsv") for run in rendered_runs()],
        evaluate=[under(f"benchmarks/evaluate/{run}.tsv") for run in rendered_runs()],
        timings=[
            f"{run_folder(*run.split('.'))}/timings.parquet" for run in rendered_runs()
        ],
    output:
        under("timing.csv"),
    log:
        under("logs/timing.log"),
    conda:
        environment
    params:
        code=code_digest("thinkprior.stages.timing"),
    message:
        "Where the time went"
    script:
        "../scripts/timing.py"
