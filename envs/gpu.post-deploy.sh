#!/usr/bin/env bash
# Snakemake runs this in the new environment, from the project's folder.
set -euo pipefail
# vLLM chooses torch; it asks for an older transformers than this package needs (docs/engines.md).
python -m pip install vllm==0.32.0 peft --editable ".[pipeline]"
python -m pip install --no-deps "$(grep -m 1 '^transformers==' requirements.lock)"
