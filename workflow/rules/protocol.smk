"""The evaluation protocol, with what belongs beside every accuracy."""


localrules:
    protocol,


rule protocol:
    input:
        **{
            name: [f"{run_folder(name, *run)}/scores.csv" for run in runs_of(name)]
            for name in settings.campaigns
            if runs_of(name)
        },
    output:
        csv=reported("protocol", "csv"),
        tex=under("tables/protocol.tex"),
        record=under("records/protocol.json"),
    log:
        under("logs/tables/protocol.log"),
    conda:
        environment
    params:
        settings=plans.protocol_settings(settings, "main"),
        runs={name: runs_of(name) for name in settings.campaigns},
        code=code_digest("thinkprior.stages.protocol"),
    message:
        "Rendering the table of the evaluation protocol"
    script:
        "../scripts/protocol.py"
