"""GRPO training, one job a run."""


rule train:
    input:
        **benchmark_files(),
        policy=lambda wildcards: kept_steps(policy_of_run(wildcards)),
        pool=lambda wildcards: under(
            f"data/pools/{settings.campaigns[wildcards.campaign].pool}.jsonl"
        ),
        prior=prior_of_run,
    output:
        groups=f"{run_folder()}/groups.parquet",
        steps=f"{run_folder()}/steps.parquet",
        timings=f"{run_folder()}/timings.parquet",
        manifest=f"{run_folder()}/manifest.json",
        checkpoints=directory(f"{run_folder()}/checkpoints"),
        usage=under("usage/train/{campaign}.{arm}.{seed}.json"),
        record=under("records/train/{campaign}.{arm}.{seed}.json"),
    log:
        under("logs/train/{campaign}.{arm}.{seed}.log"),
    benchmark:
        under("benchmarks/train/{campaign}.{arm}.{seed}.tsv")
    conda:
        environment
    threads: settings.engine.threads
    resources:
        gpu=settings.engine.gpus,
    params:
        settings=lambda wildcards: plans.run_settings(
            settings, wildcards.campaign, wildcards.arm, int(wildcards.seed)
        ),
        policy=lambda wildcards: model_folder(policy_of_run(wildcards)),
        code=code_digest("thinkprior.stages.runs"),
    message:
        "Training {wildcards.campaign}/{wildcards.arm}/seed{wildcards.seed}"
    script:
        "../scripts/train.py"
