"""The miniature models: policies, anchors, the thinking anchor, respondents."""


rule model:
    input:
        **benchmark_files(),
        source=under("data/source.jsonl"),
    output:
        model=directory(under("models/{model}")),
        usage=under("usage/model/{model}.json"),
        record=under("records/model/{model}.json"),
    log:
        under("logs/models/{model}.log"),
    benchmark:
        under("benchmarks/model/{model}.tsv")
    wildcard_constraints:
        model="|".join(sorted(set(settings.models) - plans.policies(settings)))
        or "none",
    conda:
        environment
    threads: settings.engine.threads
    params:
        settings=lambda wildcards: plans.model_settings(settings, wildcards.model),
        code=code_digest("thinkprior.stages.models"),
    message:
        "Training model {wildcards.model}"
    script:
        "../scripts/model.py"


# Every run waits for its policy, so policies come first.
use rule model as policy with:
    wildcard_constraints:
        model="|".join(sorted(set(settings.models) & plans.policies(settings)))
        or "none",
    priority: 1
