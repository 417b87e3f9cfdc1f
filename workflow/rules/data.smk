"""Problems: the source of the pools, the benchmarks, and the pools."""


rule problems:
    output:
        **benchmark_files(),
        source=under("data/source.jsonl"),
    log:
        under("logs/problems.log"),
    conda:
        environment
    params:
        settings=plans.data_settings(settings),
        code=code_digest("thinkprior.stages.problems"),
    message:
        "Generating problems"
    script:
        "../scripts/problems.py"


rule pool:
    input:
        **benchmark_files(),
        source=under("data/source.jsonl"),
    output:
        under("data/pools/{pool}.jsonl"),
    log:
        under("logs/pool.{pool}.log"),
    conda:
        environment
    params:
        settings=lambda wildcards: settings.data.pools[wildcards.pool].model_dump(),
        code=code_digest("thinkprior.stages.problems"),
    message:
        "Drawing pool {wildcards.pool}"
    script:
        "../scripts/pool.py"
