"""Problems: the source of the pools, the benchmarks, and the pools."""

from thinkprior.datasets import check_folder

generated_benchmarks = {
    name: path
    for name, path in benchmark_files().items()
    if settings.data.benchmarks[name].kind != "none"
}


localrules:
    pool,
    prefetch,


# What `snakemake prefetch` fetches; other rules add theirs.
prefetched = []


if settings.data.source == "generated":

    localrules:
        problems,

    rule problems:
        output:
            **generated_benchmarks,
            source=under("data/source.jsonl"),
            record=under("records/problems.json"),
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


if plans.datasets(settings, "local"):
    try:
        check_folder(settings.data.folder, plans.datasets(settings, "local"))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if plans.datasets(settings, "hub"):
    downloads = f"{settings.data.folder}/downloads.json"
    prefetched.append(downloads)

    localrules:
        download_datasets,

    rule download_datasets:
        output:
            downloads,
        log:
            under("logs/download_datasets.log"),
        conda:
            environment
        params:
            settings=plans.download_settings(settings),
            code=code_digest("thinkprior.stages.downloads"),
        message:
            "Downloading data sets into {settings.data.folder}"
        script:
            "../scripts/download_datasets.py"


if plans.datasets(settings, "local") or plans.datasets(settings, "hub"):

    localrules:
        datasets,

    rule datasets:
        input:
            **{
                name: f"{settings.data.folder}/{name}.jsonl"
                for name in plans.datasets(settings, "local")
            },
            **({"manifest": downloads} if plans.datasets(settings, "hub") else {}),
        output:
            **{
                name: path
                for name, path in benchmark_files().items()
                if name not in generated_benchmarks
            },
            **(
                {}
                if settings.data.source == "generated"
                else {"source": under("data/source.jsonl")}
            ),
            changes=under("data/changes.csv"),
            record=under("records/datasets.json"),
        log:
            under("logs/datasets.log"),
        conda:
            environment
        params:
            settings=plans.dataset_settings(settings),
            code=code_digest("thinkprior.stages.datasets"),
        message:
            "Reading data sets"
        script:
            "../scripts/datasets.py"


rule prefetch:
    input:
        lambda wildcards: prefetched,
    message:
        "All that this scale needs from elsewhere is there"


rule pool:
    input:
        **benchmark_files(),
        source=under("data/source.jsonl"),
    output:
        under("data/pools/{pool}.jsonl"),
        record=under("records/pools/{pool}.json"),
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
