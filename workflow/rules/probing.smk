"""Offline passes over a pool: reference, anchor, thinking, respondents."""


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
        settings=lambda wildcards: plans.probe_settings(
            settings, wildcards.kind, wildcards.reference
        ),
        model=lambda wildcards: model_folder(wildcards.reference),
        code=code_digest("thinkprior.stages.responses"),
    message:
        "Probing {wildcards.reference} on {wildcards.pool} ({wildcards.kind})"
    script:
        "../scripts/probe.py"


if made("world"):

    localrules:
        world,

    rule world:
        input:
            pool=under(f"data/pools/{main_campaign.pool}.jsonl"),
            reference=responses("reference", main_campaign.policy, main_campaign.pool),
            anchor=responses("anchor", main_campaign.anchor, main_campaign.pool),
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
