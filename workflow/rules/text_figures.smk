"""Table 4, the window rates and coverage, Appendix E, and the amortisation figures."""


localrules:
    windows,


if made("table4"):

    localrules:
        table4,

    rule table4:
        input:
            metrics=under("metrics/main.csv"),
            timings=refilling_files("timings.parquet"),
            manifests=refilling_files("manifest.json"),
        output:
            csv=reported("table4", "csv"),
            tex=under("tables/table4.tex"),
            record=under("records/table4.json"),
        log:
            under("logs/tables/table4.log"),
        conda:
            environment
        params:
            settings=plans.composition_settings(settings),
            runs=refilling_runs(),
            code=code_digest("thinkprior.stages.text_figures"),
        message:
            "Rendering Table 4"
        script:
            "../scripts/table4.py"


rule windows:
    input:
        **reestimate_inputs(),
        main=under("metrics/main.csv"),
        main_steps=under("metrics/main.steps.csv"),
        main_groups=groups_of("main"),
    output:
        csv=reported("windows", "csv"),
        tex=under("tables/windows.tex"),
        record=under("records/windows.json"),
    log:
        under("logs/tables/windows.log"),
    conda:
        environment
    params:
        settings=plans.windows_settings(settings),
        runs={name: runs_of(name) for name in dict.fromkeys(("main", pair_campaign))},
        code=code_digest("thinkprior.stages.text_figures"),
    message:
        "Rendering window rates and coverage"
    script:
        "../scripts/windows.py"


if made("appendixE"):

    localrules:
        appendix_e,

    rule appendix_e:
        input:
            metrics=under("metrics/large_pool.csv"),
            steps=under("metrics/large_pool.steps.csv"),
            checkpoints=under("metrics/large_pool.checkpoints.csv"),
            pool=under(f"data/pools/{settings.campaigns['large_pool'].pool}.jsonl"),
            prior=prior_file("large_pool", "thinkprior", "csv"),
            old_pass=anchor_pass("main"),
            new_pass=anchor_pass("large_pool"),
        output:
            csv=reported("appendixE", "csv"),
            tex=under("tables/appendixE.tex"),
            record=under("records/appendixE.json"),
        log:
            under("logs/tables/appendixE.log"),
        conda:
            environment
        params:
            settings=plans.appendix_e_settings(settings),
            code=code_digest("thinkprior.stages.text_figures"),
        message:
            "Rendering Appendix E"
        script:
            "../scripts/appendix_e.py"


if made("amortisation"):

    localrules:
        amortisation,

    rule amortisation:
        input:
            metrics=under("metrics/main.csv"),
            timings=refilling_files("timings.parquet"),
            manifests=refilling_files("manifest.json"),
            anchor=anchor_pass("main"),
            anchor_benchmark=under(
                f"benchmarks/probe/{settings.campaigns['main'].pool}.anchor."
                f"{full_reference(settings.campaigns['main'].anchor)}.tsv"
            ),
            lengths=prior_file("main", "length_prior", "lengths.csv"),
        output:
            csv=reported("amortisation", "csv"),
            tex=under("tables/amortisation.tex"),
            record=under("records/amortisation.json"),
        log:
            under("logs/tables/amortisation.log"),
        conda:
            environment
        params:
            settings=plans.amortisation_settings(settings),
            runs=refilling_runs(),
            code=code_digest("thinkprior.stages.text_figures"),
        message:
            "Rendering the amortisation figures"
        script:
            "../scripts/amortisation.py"
