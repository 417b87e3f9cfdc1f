"""What everything costs: seconds, memory, rollouts and tokens, over all campaigns."""


localrules:
    cost,


rule cost:
    input:
        unpack(cost_inputs),
        metrics=under("metrics/main.csv"),
        checkpoints=under("metrics/main.checkpoints.csv"),
    output:
        csv=reported("cost", "csv"),
        tex=under("tables/cost.tex"),
        pdf=under("figures/cost.pdf"),
        png=reported("cost-figure", "png"),
        figure_csv=under("figures/cost.csv"),
        caption=under("figures/cost.txt"),
        record=under("records/cost.json"),
    log:
        under("logs/cost.log"),
    conda:
        environment
    params:
        settings=plans.table_settings(settings, "main"),
        runs=costed_runs(),
        passes=[
            {
                "kind": kind,
                "name": f"{kind} pass of {reference} over {pool}",
                "main": (pool, kind, reference) in costed_passes("main"),
            }
            for pool, kind, reference in costed_passes(*settings.campaigns)
        ],
        code=code_digest("thinkprior.stages.cost"),
    message:
        "Adding up the costs"
    script:
        "../scripts/cost.py"
