"""Measure the world."""

from thinkprior.script import light

light(
    "thinkprior.stages.world:measure_world",
    snakemake,
    group_size=snakemake.params.group_size,
    pool=snakemake.input.pool,
    reference=snakemake.input.reference,
    anchor=snakemake.input.anchor,
    world=snakemake.output[0],
)
