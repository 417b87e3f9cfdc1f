"""Prompt calibration, for a scale that has a `calibration` section."""

if settings.calibration.templates:

    localrules:
        calibration,

    rule calibrate:
        input:
            model=kept_steps(settings.campaigns["main"].policy),
            benchmark=benchmark_files()[settings.calibration.benchmark],
            pool=under(f"data/pools/{settings.campaigns['main'].pool}.jsonl"),
        output:
            cells=under("calibration/{template}.csv"),
            usage=under("usage/calibrate/{template}.json"),
            record=under("records/calibrate/{template}.json"),
        log:
            under("logs/calibrate/{template}.log"),
        benchmark:
            under("benchmarks/calibrate/{template}.tsv")
        wildcard_constraints:
            template="|".join(settings.calibration.templates),
        conda:
            environment
        threads: settings.engine.threads
        resources:
            gpu=settings.engine.gpus,
        params:
            settings=lambda wildcards: plans.calibration_settings(
                settings, wildcards.template
            ),
            policy=model_folder(settings.campaigns["main"].policy),
            code=code_digest("thinkprior.stages.calibration"),
        message:
            "Calibrating template {wildcards.template}"
        script:
            "../scripts/calibrate.py"

    rule calibration:
        input:
            expand(
                under("calibration/{template}.csv"),
                template=settings.calibration.templates,
            ),
        output:
            csv=under("tables/calibration.csv"),
            tex=under("tables/calibration.tex"),
            record=under("records/calibration.json"),
        log:
            under("logs/tables/calibration.log"),
        conda:
            environment
        params:
            settings=plans.calibration_table_settings(settings),
            templates=list(settings.calibration.templates),
            code=code_digest("thinkprior.stages.calibration"),
        message:
            "Rendering the calibration table"
        script:
            "../scripts/calibration.py"
