"""Evaluation of each run's adapters."""


rule evaluate:
    input:
        **benchmark_files(),
        policy=lambda wildcards: kept_steps(policy_of_run(wildcards)),
        checkpoints=f"{run_folder()}/checkpoints",
    output:
        scores=f"{run_folder()}/scores.csv",
        answers=f"{run_folder()}/answers.parquet",
        usage=under("usage/evaluate/{campaign}.{arm}.{seed}.json"),
        record=under("records/evaluate/{campaign}.{arm}.{seed}.json"),
    log:
        under("logs/evaluate/{campaign}.{arm}.{seed}.log"),
    benchmark:
        under("benchmarks/evaluate/{campaign}.{arm}.{seed}.tsv")
    conda:
        environment
    threads: settings.engine.threads
    resources:
        gpu=settings.engine.gpus,
    params:
        settings=lambda wildcards: plans.evaluation_settings(
            settings, f"{wildcards.campaign}/{wildcards.arm}/seed{wildcards.seed}"
        ),
        policy=lambda wildcards: model_folder(policy_of_run(wildcards)),
        code=code_digest("thinkprior.stages.evaluations"),
    message:
        "Evaluating {wildcards.campaign}/{wildcards.arm}/seed{wildcards.seed}"
    script:
        "../scripts/evaluate.py"
