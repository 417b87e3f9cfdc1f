"""Figures, each with the CSV that it was drawn from and its caption."""


localrules:
    figure3,


if made("figure2"):

    localrules:
        figure2,

    rule figure2:
        input:
            metrics=under(f"metrics/{pair_campaign}.csv"),
            checkpoints=under(f"metrics/{pair_campaign}.checkpoints.csv"),
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
            settings=plans.table_settings(settings, pair_campaign),
            code=code_digest("thinkprior.stages.rendering"),
        message:
            "Drawing Figure 2"
        script:
            "../scripts/figure2.py"


rule figure3:
    input:
        main=under("metrics/main.steps.csv"),
        reestimate=under(f"metrics/{pair_campaign}.steps.csv"),
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
