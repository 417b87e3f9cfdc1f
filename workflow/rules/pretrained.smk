"""Models that come from elsewhere: downloaded, converted, or linked."""


localrules:
    download_model,
    convert_model,
    link_model,
    link_same_model,


# A login node has internet; compute nodes need none.
prefetched += map(kept_steps, plans.pretrained(settings, "repository", "package"))


rule download_model:
    output:
        model=directory(under("models/{model}")),
        record=under("records/model/{model}.json"),
    log:
        under("logs/models/{model}.log"),
    wildcard_constraints:
        model="|".join(plans.pretrained(settings, "repository")) or "none",
    priority: 2
    conda:
        environment
    params:
        # No digest of code: what is fetched is fixed by its checksums.
        settings=lambda wildcards: plans.pretrained_settings(settings, wildcards.model),
    message:
        "Downloading model {wildcards.model}"
    script:
        "../scripts/download_model.py"


rule convert_model:
    output:
        model=directory(under("models/{model}")),
        usage=under("usage/model/{model}.json"),
        record=under("records/model/{model}.json"),
    log:
        under("logs/models/{model}.log"),
    wildcard_constraints:
        model="|".join(plans.pretrained(settings, "package")) or "none",
    priority: 2
    conda:
        environment
    params:
        settings=lambda wildcards: plans.pretrained_settings(settings, wildcards.model),
        code=code_digest("thinkprior.stages.conversion"),
    message:
        "Fetching and converting model {wildcards.model}"
    script:
        "../scripts/convert_model.py"


rule link_model:
    input:
        model_files,
    output:
        model=directory(under("models/{model}")),
        record=under("records/model/{model}.json"),
    log:
        under("logs/models/{model}.log"),
    wildcard_constraints:
        model="|".join(plans.pretrained(settings, "path")) or "none",
    conda:
        environment
    params:
        settings=lambda wildcards: plans.pretrained_settings(settings, wildcards.model),
        source=lambda wildcards: settings.pretrained[wildcards.model].path,
    message:
        "Linking model {wildcards.model}"
    script:
        "../scripts/link_model.py"


use rule link_model as link_same_model with:
    input:
        lambda wildcards: kept_steps(settings.pretrained[wildcards.model].same_as),
    wildcard_constraints:
        model="|".join(plans.pretrained(settings, "same_as")) or "none",
    params:
        settings=lambda wildcards: plans.pretrained_settings(settings, wildcards.model),
        source=lambda wildcards: model_folder(
            settings.pretrained[wildcards.model].same_as
        ),
