"""The document of all tables and figures; not part of `all`, since it needs LaTeX."""


localrules:
    document,


rule document:
    input:
        latex=latex,
        tables=lambda wildcards: set_in_document("table", "tex"),
        figures=lambda wildcards: set_in_document("figure", "pdf"),
        captions=lambda wildcards: set_in_document("figure", "txt"),
    output:
        pdf=under("document/paper.pdf"),
        tex=under("document/paper.tex"),
        record=under("records/paper.json"),
    log:
        under("logs/document/paper.log"),
    conda:
        environment
    params:
        settings=plans.document_settings(settings, availability.left_out(settings)),
        code=code_digest("thinkprior.stages.document"),
    message:
        "Typesetting all tables and figures"
    script:
        "../scripts/document.py"
