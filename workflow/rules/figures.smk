"""Figures, each with the CSV that it was drawn from and its caption."""


localrules:
    figure2,
    figure3,


rule figure2:
    input:
        metrics=under("metrics/reestimate.csv"),
        checkpoints=under("metrics/reestimate.checkpoints.csv"),
    output:
        pdf=under("figures/figure2.pdf"),
        png=reported("figure2", "png"),
        csv=under("figures/figure2.csv"),
        caption=under("figures/figure2.txt"),
        record=under("records/figure2.json"),
    log:
        under("logs/figures/figure2.log"),
    conda:
        environment
    params:
        settings=plans.table_settings(settings, "reestimate"),
        code=code_digest("thinkprior.stages.rendering"),
    message:
        "Drawing Figure 2"
    script:
        "../scripts/figure2.py"


rule figure3:
    input:
        main=under("metrics/main.steps.csv"),
        reestimate=under("metrics/reestimate.steps.csv"),
    output:
        pdf=under("figures/figure3.pdf"),
        png=reported("figure3", "png"),
        csv=under("figures/figure3.csv"),
        caption=under("figures/figure3.txt"),
        record=under("records/figure3.json"),
    log:
        under("logs/figures/figure3.log"),
    conda:
        environment
    params:
        settings=plans.table_settings(settings, "main"),
        code=code_digest("thinkprior.stages.rendering"),
    message:
        "Drawing Figure 3"
    script:
        "../scripts/figure3.py"
