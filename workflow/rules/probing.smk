"""Offline passes over a pool: reference, anchor, thinking, respondents."""


localrules:
    world,


rule probe:
    input:
        model=lambda wildcards: kept_steps(wildcards.reference),
        pool=under("data/pools/{pool}.jsonl"),
    output:
        responses=under("responses/{pool}/{kind}.{reference}.parquet"),
        usage=under("usage/probe/{pool}.{kind}.{reference}.json"),
        record=under("records/probe/{pool}.{kind}.{reference}.json"),
    log:
        under("logs/responses/{pool}.{kind}.{reference}.log"),
    benchmark:
        under("benchmarks/probe/{pool}.{kind}.{reference}.tsv")
    conda:
        environment
    threads: settings.engine.threads
    resources:
        gpu=settings.engine.gpus,
    params:
        name=lambda wildcards: plans.pass_name(
            settings, wildcards.kind, wildcards.reference, wildcards.pool
        ),
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
        reported("world", "csv"),
        record=under("records/world.json"),
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
