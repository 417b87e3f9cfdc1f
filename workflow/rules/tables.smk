"""Tables: rendered under the scale's folder, then put under their fixed names."""


localrules:
    table1,
    fixed_name,


rule table1:
    input:
        metrics=under("metrics/main.csv"),
    output:
        csv=reported("table1", "csv"),
        tex=under("tables/table1.tex"),
        record=under("records/table1.json"),
    log:
        under("logs/tables/table1.log"),
    conda:
        environment
    params:
        settings=plans.table_settings(settings, "main"),
        code=code_digest("thinkprior.stages.rendering"),
    message:
        "Rendering Table 1"
    script:
        "../scripts/table1.py"


if made("table2"):

    localrules:
        table2,

    rule table2:
        input:
            metrics=under(f"metrics/{pair_campaign}.csv"),
            checkpoints=under(f"metrics/{pair_campaign}.checkpoints.csv"),
        output:
            csv=reported("table2", "csv"),
            tex=under("tables/table2.tex"),
            record=under("records/table2.json"),
        log:
            under("logs/tables/table2.log"),
        conda:
            environment
        params:
            settings=plans.table_settings(settings, pair_campaign),
            statistics=settings.statistics.model_dump(),
            code=code_digest("thinkprior.stages.rendering"),
        message:
            "Rendering Table 2"
        script:
            "../scripts/table2.py"


rule fixed_name:
    input:
        rendering,
    output:
        "results/{name}.{ending}",
    log:
        under("logs/fixed/{name}.{ending}.log"),
    wildcard_constraints:
        name="|".join(fixed_names.NAMES),
        ending="tex|csv|pdf|png|md|html",
    conda:
        environment
    message:
        "{output} is that of the {settings.scale} scale"
    shell:
        "cp {input} {output} 2> {log}"
