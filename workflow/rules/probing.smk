"""Offline passes over a pool: reference, anchor, thinking, respondents."""


rule probe:
    input:
        model=lambda wildcards: kept_steps(wildcards.reference),
        pool=under("data/pools/{pool}.jsonl"),
    output:
        under("responses/{pool}/{kind}.{reference}.parquet"),
    log:
        under("logs/responses/{pool}.{kind}.{reference}.log"),
    benchmark:
        under("benchmarks/probe/{pool}.{kind}.{reference}.tsv")
    conda:
        environment
    threads: settings.engine.threads
    params:
        settings=lambda wildcards: plans.probe_settings(settings, wildcards.kind),
        model=lambda wildcards: model_folder(wildcards.reference),
        code=code_digest("thinkprior.stages.responses"),
    message:
        "Probing {wildcards.reference} on {wildcards.pool} ({wildcards.kind})"
    script:
        "../scripts/probe.py"


rule world:
    input:
        pool=under("data/pools/pool250.jsonl"),
        reference=responses("reference", settings.campaigns["main"].policy, "pool250"),
        anchor=responses("anchor", settings.campaigns["main"].anchor, "pool250"),
    output:
        under("world.csv"),
    log:
        under("logs/world.log"),
    conda:
        environment
    params:
        group_size=settings.training.group_size,
        code=code_digest("thinkprior.stages.world"),
    message:
        "Measuring the world"
    script:
        "../scripts/world.py"
