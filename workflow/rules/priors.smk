"""Priors: anchor, oracle, length, and the 2PL item bank."""


localrules:
    anchor_prior,
    oracle_prior,
    response_matrix,
    item_bank,
    bank_prior,


rule anchor_prior:
    input:
        pool=under("data/pools/{pool}.jsonl"),
        responses=lambda wildcards: responses("anchor", wildcards.model, wildcards.pool),
    output:
        under("priors/{pool}/anchor.{model}.csv"),
        record=under("records/priors/{pool}.anchor.{model}.json"),
    log:
        under("logs/priors/{pool}.anchor.{model}.log"),
    conda:
        environment
    params:
        code=code_digest("thinkprior.stages.priors"),
    message:
        "Anchor prior of {wildcards.model} on {wildcards.pool}"
    script:
        "../scripts/pass_rate_prior.py"


rule oracle_prior:
    input:
        pool=under("data/pools/{pool}.jsonl"),
        responses=lambda wildcards: responses(
            "reference", wildcards.model, wildcards.pool
        ),
    output:
        under("priors/{pool}/oracle.{model}.csv"),
        record=under("records/priors/{pool}.oracle.{model}.json"),
    log:
        under("logs/priors/{pool}.oracle.{model}.log"),
    conda:
        environment
    params:
        code=code_digest("thinkprior.stages.priors"),
    message:
        "Oracle prior of {wildcards.model} on {wildcards.pool}"
    script:
        "../scripts/pass_rate_prior.py"


if settings.probing.thinking_model:

    localrules:
        length_prior,

    rule length_prior:
        input:
            pool=under("data/pools/{pool}.jsonl"),
            thinking=responses("thinking", settings.probing.thinking_model),
            reference=lambda wildcards: responses(
                "reference", wildcards.model, wildcards.pool
            ),
            model=kept_steps(settings.probing.thinking_model),
        output:
            prior=under("priors/{pool}/length.{model}.csv"),
            lengths=under("priors/{pool}/length.{model}.lengths.csv"),
            record=under("records/priors/{pool}.length.{model}.json"),
        log:
            under("logs/priors/{pool}.length.{model}.log"),
        conda:
            environment
        params:
            settings=lambda wildcards: {
                "share": settings.prior.length_fit_share,
                "cap": settings.probing.thinking_max_new_tokens,
                "name": wildcards.pool,
            },
            model=model_folder(settings.probing.thinking_model),
            code=code_digest("thinkprior.stages.priors"),
        message:
            "Length prior for {wildcards.model} on {wildcards.pool}"
        script:
            "../scripts/length_prior.py"


rule response_matrix:
    input:
        pool=under("data/pools/{pool}.jsonl"),
        responses=[
            responses("respondent", name) for name in plans.respondents(settings)
        ],
    output:
        under("irt/{pool}/response_matrix.csv"),
        record=under("records/irt/{pool}.response_matrix.json"),
    log:
        under("logs/irt/{pool}.response_matrix.log"),
    conda:
        environment
    params:
        respondents=plans.respondents(settings),
        code=code_digest("thinkprior.stages.priors"),
    message:
        "Response matrix on {wildcards.pool}"
    script:
        "../scripts/response_matrix.py"


rule item_bank:
    input:
        pool=under("data/pools/{pool}.jsonl"),
        matrix=under("irt/{pool}/response_matrix.csv"),
    output:
        bank=under("irt/{pool}/item_bank.csv"),
        report=under("irt/{pool}/item_bank.json"),
        record=under("records/irt/{pool}.item_bank.json"),
    log:
        under("logs/irt/{pool}.item_bank.log"),
    benchmark:
        under("benchmarks/item_bank/{pool}.tsv")
    conda:
        environment
    params:
        code=code_digest("thinkprior.stages.priors"),
    message:
        "Fitting the 2PL item bank on {wildcards.pool}"
    script:
        "../scripts/item_bank.py"


rule bank_prior:
    input:
        pool=under("data/pools/{pool}.jsonl"),
        bank=under("irt/{pool}/item_bank.csv"),
    output:
        under("priors/{pool}/{bank}.csv"),
        record=under("records/priors/{pool}.{bank}.json"),
    log:
        under("logs/priors/{pool}.{bank}.log"),
    wildcard_constraints:
        bank="bank|bank_sharp",
    conda:
        environment
    params:
        sharpening=lambda wildcards: (
            settings.prior.sharpening if wildcards.bank == "bank_sharp" else 1
        ),
        code=code_digest("thinkprior.stages.priors"),
    message:
        "Prior {wildcards.bank} on {wildcards.pool}"
    script:
        "../scripts/bank_prior.py"
