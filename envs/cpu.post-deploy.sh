#!/usr/bin/env bash
# Snakemake runs this in the new environment, from the project's folder.
set -euo pipefail
python -m pip install --requirement requirements.lock
python -m pip install --no-deps --editable .
