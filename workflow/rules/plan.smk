"""`snakemake plan`: what everything will take, before anything is spent. It makes no result."""


localrules:
    plan,


rule plan:
    log:
        under("logs/plan.log"),
    conda:
        environment
    params:
        folder=scale_folder,
    message:
        "Planning {params.folder}"
    script:
        "../scripts/plan.py"
