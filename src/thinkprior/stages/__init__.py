"""One function a rule: reads its input files, calls the science, writes its output files.

Each takes plain values and paths, so it can be called from a script, from a warm child process or
from a test; none knows Snakemake.
"""
