"""The miniature models: policies, anchors, the thinking anchor, respondents."""


rule model:
    input:
        source=under("data/source.jsonl"),
        **benchmark_files(),
    output:
        directory(under("models/{model}")),
    log:
        under("logs/models/{model}.log"),
    benchmark:
        under("benchmarks/model/{model}.tsv")
    threads: settings.engine.threads
    params:
        settings=lambda wildcards: plans.model_settings(settings, wildcards.model),
        code=code_digest("thinkprior.stages.models"),
    message:
        "Training model {wildcards.model}"
    script:
        "../scripts/model.py"
