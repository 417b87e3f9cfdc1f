"""What comes from elsewhere: asked for before any job starts."""

from thinkprior.stages.preflight import ask


def model_files(wildcards):
    """Files of a local model folder; once they are newer, what rests on them is made anew."""
    folder = Path(settings.pretrained[wildcards.model].path)
    return sorted(map(str, [*folder.glob("*.json"), *folder.glob("*.safetensors")]))


def check_downloads():
    """Refuse to start where something that this run is to download cannot be."""
    jobs = list(workflow.dag.needrun_jobs())

    def wanted(rule):
        names = [job.wildcards.model for job in jobs if job.rule.name == rule]
        return [plans.pretrained_settings(settings, name) for name in names]

    datasets = {"folder": settings.data.folder, **plans.download_settings(settings)}
    asked = any(job.rule.name == "download_datasets" for job in jobs)
    try:
        ask(
            models=wanted("download_model"),
            packages=wanted("convert_model"),
            datasets=datasets if asked else {},
            job_log=under("logs/downloads.log"),
        )
        check_models(settings)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
