"""Tables: rendered under the scale's folder, then put under their fixed names."""


localrules:
    table1,
    table2,
    fixed_name,


rule table1:
    input:
        metrics=under("metrics/main.csv"),
    output:
        csv=under("tables/table1.csv"),
        tex=under("tables/table1.tex"),
    log:
        under("logs/tables/table1.log"),
    params:
        settings=plans.table_settings(settings, "main"),
        code=code_digest("thinkprior.stages.rendering"),
    message:
        "Rendering Table 1"
    script:
        "../scripts/table1.py"


rule table2:
    input:
        metrics=under("metrics/reestimate.csv"),
        checkpoints=under("metrics/reestimate.checkpoints.csv"),
    output:
        csv=under("tables/table2.csv"),
        tex=under("tables/table2.tex"),
    log:
        under("logs/tables/table2.log"),
    params:
        settings=plans.table_settings(settings, "reestimate"),
        statistics=settings.statistics.model_dump(),
        code=code_digest("thinkprior.stages.rendering"),
    message:
        "Rendering Table 2"
    script:
        "../scripts/table2.py"


def rendering(wildcards):
    """Where a file with a fixed name comes from at the scale in force."""
    kind = "tables" if wildcards.name.startswith("table") else "figures"
    folder = "" if wildcards.name == "world" else f"{kind}/"
    return under(f"{folder}{wildcards.name}.{wildcards.ending}")


rule fixed_name:
    input:
        rendering,
    output:
        "results/{name}.{ending}",
    log:
        under("logs/fixed/{name}.{ending}.log"),
    wildcard_constraints:
        name=r"table\d+|figure\d+|world",
        ending="tex|csv|pdf|png",
    message:
        "{output} is that of the {settings.scale} scale"
    shell:
        "cp {input} {output} 2> {log}"
