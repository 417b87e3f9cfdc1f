"""Supervised training of the miniature models: batches by hand, and the same weights every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from thinkprior.digest import file_digest
from thinkprior.models import load_model, load_tokenizer
from thinkprior.prompts import Template
from thinkprior.world.pretraining import ModelPlan, _batches, _one_cycle, build_model, pretrain
from thinkprior.world.tokenizer import build_tokenizer

TEMPLATE = Template("{problem}\n")


def plan_of(**changes: Any) -> ModelPlan:
    values: dict[str, Any] = {
        "name": "tiny",
        "seed": 1,
        "hidden_size": 16,
        "layers": 1,
        "heads": 2,
        "intermediate_size": 32,
        "kinds": {"math": 1.0},
        "forms": {"boxed": 1.0},
        "boxed_by_subject": {},
        "steps": 4,
        "batch_size": 4,
        "learning_rate": 0.01,
    }
    return ModelPlan(**{**values, **changes})


def weights(plan: ModelPlan) -> list[torch.Tensor]:
    return list(build_model(plan, 50, 1, 0).parameters())


def test_the_name_and_the_seed_decide_the_first_weights() -> None:
    one = weights(plan_of())
    torch.manual_seed(99)
    assert all(torch.equal(a, b) for a, b in zip(one, weights(plan_of()), strict=True))
    for other in (plan_of(seed=2), plan_of(name="other")):
        assert not torch.equal(one[0], weights(other)[0])


def test_a_batch_predicts_each_answer_token_and_the_end() -> None:
    tokenizer = build_tokenizer()
    pairs = [("Compute 1 + 2.", r"\boxed{3}"), ("Compute 10 + 20.", "30")] * 40
    ids, places, targets = next(_batches(iter(pairs), tokenizer, TEMPLATE, 2))
    assert len(ids) == 2
    width = ids.shape[1]
    read = []
    for row in range(2):
        mine = (places // width) == row
        # Each place stands one before the token that it predicts; the last predicts the end.
        following = [*ids[row].tolist(), tokenizer.pad_token_id]
        predicted = targets[mine].tolist()
        for place, target in zip((places[mine] % width).tolist()[:-1], predicted, strict=False):
            assert following[place + 1] == target
        assert predicted[-1] == tokenizer.eos_token_id
        read.append(tokenizer.decode(predicted[:-1]))
    assert read == [r"\boxed{3}", "30"]


def test_the_rate_warms_up_and_falls_to_a_fiftieth() -> None:
    shares = [_one_cycle(step, 100) for step in range(100)]
    assert shares[0] == pytest.approx(0.1)
    assert max(shares) == pytest.approx(1.0)
    assert shares.index(max(shares)) in (9, 10)
    assert shares[10:] == sorted(shares[10:], reverse=True)
    assert _one_cycle(100, 100) == pytest.approx(0.02)


def test_training_is_the_same_every_time_and_lowers_the_loss(tmp_path: Path) -> None:
    def trained(name: str) -> dict[int, Path]:
        folders = {2: tmp_path / name / "2", 4: tmp_path / name / "4"}
        pretrain(plan_of(), TEMPLATE, set(), folders, report=lambda step, loss: None)
        return folders

    one, other = trained("one"), trained("other")
    for step in (2, 4):
        files = [folder[step] / "model.safetensors" for folder in (one, other)]
        assert file_digest(files[0]) == file_digest(files[1])
    assert file_digest(one[2] / "model.safetensors") != file_digest(one[4] / "model.safetensors")
    model, tokenizer = load_model(one[4]), load_tokenizer(one[4])
    assert model.config.vocab_size == len(tokenizer)
    assert tokenizer.tokenize("Compute 12.") == build_tokenizer().tokenize("Compute 12.")
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
