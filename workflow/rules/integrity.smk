"""`snakemake verify`: what is there, held against its records. It makes nothing."""


localrules:
    verify,


rule verify:
    log:
        under("logs/verify.log"),
    conda:
        environment
    params:
        folder=scale_folder,
    message:
        "Verifying the artifacts under {params.folder}"
    script:
        "../scripts/verify.py"
