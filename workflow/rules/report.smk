"""The report: one page with every table and figure, and how each was made."""


localrules:
    report_page,


rule report_page:
    input:
        shown=report_files,
        manifests=[
            f"{run_folder(campaign, arm, seed)}/manifest.json"
            for campaign in settings.campaigns
            for arm, seed in runs_of(campaign)
        ],
        captions=[f"workflow/report/{name}.rst" for name in items.captions()],
        template="workflow/report/page.html.jinja2",
        style="workflow/report/page.css",
        script="workflow/report/page.js",
        decisions="docs/decisions.md",
        notes="docs/results.md",
    output:
        report=under("report.html"),
        record=under("records/report.json"),
    log:
        under("logs/report.log"),
    conda:
        environment
    params:
        # A function, since braces in text would be taken for wildcards.
        configuration=lambda wildcards: settings.model_dump_json(
            exclude={"finished_runs_only"}
        ),
        code=code_digest("thinkprior.stages.report"),
    message:
        "Writing the report"
    script:
        "../scripts/report.py"
