"""Models that come from elsewhere, through Snakemake: a local folder, and a hub that refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.bad_input import message_of
from tests.unit.test_data_downloads import serving
from tests.workflow.test_micro import Project


def save_tiny_model(folder: Path) -> None:
    """A random Qwen2 model over bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    letters = ["<pad>", "<end>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    core = Tokenizer(models.BPE({letter: place for place, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    config = Qwen2Config(
        **sizes, **heads, vocab_size=len(letters), bos_token_id=None, eos_token_id=1, pad_token_id=0
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<end>"
    ).save_pretrained(folder)


def test_a_local_folder_is_linked_and_probed(tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "tiny")
    project = Project(tmp_path / "project")
    project.values["pretrained"] = {"outside": {"label": "x", "path": str(tmp_path / "tiny")}}
    target = "results/micro/responses/pool250/anchor.outside@0.parquet"
    run = project.snakemake(target)
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(pd.read_parquet(project.folder / target)) == 40 * 8
    step = project.folder / "results/micro/models/outside/step-00000"
    assert step.is_symlink()
    assert step.resolve() == tmp_path / "tiny"
    # Weights that change make what rests on them stale.
    weights = tmp_path / "tiny/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    assert "Linking model outside" in project.planned(target)


def test_a_gated_model_stops_the_run_before_any_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path / "project")
    project.values["pretrained"] = {"gated": {"label": "x", "repository": "owner/gated"}}
    target = "results/micro/responses/pool250/anchor.gated@0.parquet"
    with serving(monkeypatch) as hub:
        hub.status, hub.error_code = [403] * 20, "GatedRepo"
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        run = project.snakemake(target)
    message = message_of(run.stdout + run.stderr, project.folder)
    assert run.returncode != 0
    assert "owner/gated: the repository is gated. Accept its terms at" in message
    made = [path for path in (project.folder / "results").rglob("*") if path.is_file()]
    assert [path.name for path in made] == ["downloads.log"]
