"""Compare our numbers with the paper's."""

from thinkprior.script import light

light(
    "thinkprior.stages.reproduction:make_reproduction",
    snakemake,
    settings=snakemake.params.settings,
    published=snakemake.input.published,
    comparators=snakemake.input.comparators,
    claims=snakemake.input.claims,
    main_tables={
        name: files[0]
        for name in ("table1", "main", "table2", "reestimate")
        if (files := snakemake.input.get(name))
    },
    long_tables=list(snakemake.input.long_tables),
    csv=snakemake.output.csv,
    claims_csv=snakemake.output.claims,
    page=snakemake.output.page,
)
