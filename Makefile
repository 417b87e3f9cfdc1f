# Two commands do everything: `make paper` and `make test`. Both set up .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES ?= all

.PHONY: paper test check docs slow clean

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

docs: $(VENV)/installed
	$(BIN)/python -m thinkprior.configuration

# The lock holds exact versions; plain pip reads it, so a machine with a GPU gets the CUDA build of
# the same torch.
$(VENV)/installed: requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

clean:
	rm -rf $(VENV) .snakemake
