"""The paper's numbers beside ours, and its claims decided by their written rules."""


localrules:
    reproduction,


rule reproduction:
    input:
        table1=lambda wildcards: [under("tables/table1.csv")] if runs_of("main") else [],
        main=lambda wildcards: [under("metrics/main.csv")] if runs_of("main") else [],
        table2=lambda wildcards: (
            [under("tables/table2.csv")]
            if made("table2") and runs_of(pair_campaign)
            else []
        ),
        reestimate=lambda wildcards: (
            [under(f"metrics/{pair_campaign}.csv")]
            if made("table2") and runs_of(pair_campaign)
            else []
        ),
        published="resources/published/published.csv",
        comparators="resources/published/comparators.yaml",
        claims="resources/published/claims.yaml",
        long_tables=[
            under(f"tables/{name}.csv")
            for name in (
                *("table3", "table4", "table5"),
                *("appendixB", "appendixD", "appendixE"),
                *("windows", "amortisation"),
            )
            if made(name)
        ],
    output:
        csv=reported("reproduction", "csv"),
        claims=reported("claims", "csv"),
        page=under("reproduction.md"),
        record=under("records/reproduction.json"),
    log:
        under("logs/reproduction.log"),
    conda:
        environment
    params:
        settings=plans.reproduction_settings(settings),
        code=code_digest("thinkprior.stages.reproduction"),
    message:
        "Comparing with the paper's numbers"
    script:
        "../scripts/reproduction.py"
