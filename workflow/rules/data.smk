"""Problems: the source of the pools, the benchmarks, and the pools."""


rule problems:
    output:
        source=under("data/source.jsonl"),
        **benchmark_files(),
    log:
        under("logs/problems.log"),
    params:
        settings=plans.data_settings(settings),
        code=code_digest("thinkprior.stages.problems"),
    message:
        "Generating problems"
    script:
        "../scripts/problems.py"


rule pool:
    input:
        source=under("data/source.jsonl"),
        **benchmark_files(),
    output:
        under("data/pools/{pool}.jsonl"),
    log:
        under("logs/pool.{pool}.log"),
    params:
        settings=lambda wildcards: settings.data.pools[wildcards.pool].model_dump(),
        code=code_digest("thinkprior.stages.problems"),
    message:
        "Drawing pool {wildcards.pool}"
    script:
        "../scripts/pool.py"
