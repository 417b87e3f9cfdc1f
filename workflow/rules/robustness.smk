"""Table 3 and Appendix D: other policies, anchors, long runs, a larger pool.

With finished_runs_only a campaign without a finished run is no input, and its cells are dashes.
"""

if made("table3"):

    localrules:
        table3,

    rule table3:
        input:
            runs=lambda wildcards: [
                under(f"metrics/{campaign}.csv")
                for campaign in (*plans.BACKBONES, *plans.ANCHORS, plans.LARGE_POOL)
                if runs_of(campaign)
            ],
            checkpoints=lambda wildcards: [
                under(f"metrics/{campaign}.checkpoints.csv")
                for campaign in plans.HORIZONS
                if runs_of(campaign)
            ],
            steps=lambda wildcards: [
                under(f"metrics/{campaign}.steps.csv")
                for campaign in [plans.LARGE_POOL]
                if runs_of(campaign)
            ],
            priors=lambda wildcards: [
                under(f"priors/{path}.csv")
                for campaign, path in plans.anchor_priors(settings).items()
                if runs_of(campaign)
            ],
        output:
            csv=reported("table3", "csv"),
            tex=under("tables/table3.tex"),
            record=under("records/table3.json"),
        log:
            under("logs/tables/table3.log"),
        conda:
            environment
        params:
            settings=lambda wildcards: plans.robustness_settings(settings),
            anchors=lambda wildcards: [name for name in plans.ANCHORS if runs_of(name)],
            code=code_digest("thinkprior.stages.robustness"),
        message:
            "Rendering Table 3"
        script:
            "../scripts/table3.py"


if made("appendixD"):

    localrules:
        appendix_d,

    rule appendix_d:
        input:
            checkpoints=lambda wildcards: [
                under(f"metrics/{campaign}.checkpoints.csv")
                for campaign in plans.HORIZONS
                if runs_of(campaign)
            ],
            manifests=lambda wildcards: [
                path
                for campaign in plans.HORIZONS
                for path in run_files(campaign, "manifest.json")["manifest"]
            ],
        output:
            csv=reported("appendixD", "csv"),
            tex=under("tables/appendixD.tex"),
            record=under("records/appendixD.json"),
        log:
            under("logs/tables/appendixD.log"),
        conda:
            environment
        params:
            settings=lambda wildcards: plans.robustness_settings(settings),
            code=code_digest("thinkprior.stages.robustness"),
        message:
            "Rendering Appendix D"
        script:
            "../scripts/appendix_d.py"
