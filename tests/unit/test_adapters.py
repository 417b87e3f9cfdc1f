"""The adapter: where it sits, what its seed decides, and a round trip through a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from thinkprior.adapters import Lora, add_adapter, load_adapter
from thinkprior.errors import InputError

LORA = Lora(rank=4, alpha=8.0)


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        table: torch.Tensor = model(input_ids=torch.arange(10)[None]).logits
    return table


def adapter_weights(model: Any) -> dict[str, torch.Tensor]:
    return {n: p for n, p in model.named_parameters() if p.requires_grad}


def test_a_fresh_adapter_changes_nothing(tiny_model: Callable[..., Any]) -> None:
    before = logits(tiny_model())
    assert torch.equal(logits(add_adapter(tiny_model(), LORA, seed=0)), before)


def test_only_the_adapter_trains_and_it_sits_on_every_linear_layer(
    tiny_model: Callable[..., Any],
) -> None:
    weights = adapter_weights(add_adapter(tiny_model(), LORA, seed=0))
    assert len(weights) == 2 * 7 * 2  # two factors, seven linear layers, two layers
    assert all("lora_" in name and "lm_head" not in name for name in weights)
    # Rank 4 on every layer: the first factor is [4, in].
    assert all(p.shape[0] == 4 for name, p in weights.items() if "lora_A" in name)


def test_the_adapter_counts_alpha_over_rank(tiny_model: Callable[..., Any]) -> None:
    policy = add_adapter(tiny_model(), LORA, seed=0)
    layer = policy.get_base_model().model.layers[0].mlp.up_proj
    torch.nn.init.ones_(layer.lora_B["default"].weight)
    x = torch.randn(1, 16, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        change = layer(x) - layer.base_layer(x)
        expected = 8 / 4 * (layer.lora_A["default"].weight @ x[0]).sum().expand(32)
    torch.testing.assert_close(change[0], expected, rtol=1e-4, atol=1e-5)


def test_the_seed_decides_the_adapter(tiny_model: Callable[..., Any]) -> None:
    torch.manual_seed(123)
    one = adapter_weights(add_adapter(tiny_model(), LORA, seed=2**62 + 7))
    torch.manual_seed(456)
    same = adapter_weights(add_adapter(tiny_model(), LORA, seed=2**62 + 7))
    other = adapter_weights(add_adapter(tiny_model(), LORA, seed=8))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_a_saved_adapter_comes_back(model_directory: Path, tmp_path: Path) -> None:
    from thinkprior.models import load_model

    policy = add_adapter(load_model(model_directory), LORA, seed=0)
    for parameter in adapter_weights(policy).values():
        torch.nn.init.normal_(parameter, std=0.1)
    policy.save_pretrained(tmp_path / "checkpoint")
    fresh = add_adapter(load_model(model_directory), LORA, seed=1)
    assert not torch.equal(logits(fresh), logits(policy))
    load_adapter(fresh, tmp_path / "checkpoint")
    assert torch.equal(logits(fresh), logits(policy))


def test_an_adapter_that_lacks_a_layer_is_refused(model_directory: Path, tmp_path: Path) -> None:
    # Its layer would keep its old weights.
    from safetensors.torch import load_file, save_file

    from thinkprior.models import load_model

    policy = add_adapter(load_model(model_directory), LORA, seed=0)
    policy.save_pretrained(tmp_path / "checkpoint")
    path = tmp_path / "checkpoint" / "adapter_model.safetensors"
    kept = {name: w for name, w in load_file(path).items() if "layers.1" not in name}
    save_file(kept, path)
    with pytest.raises(InputError, match="does not fit"):
        load_adapter(policy, tmp_path / "checkpoint")


def test_a_saved_adapter_does_not_depend_on_the_order_of_a_set(
    tiny_model: Callable[..., Any], tmp_path: Path
) -> None:
    # Sets of names are ordered by the process's hash seed.
    add_adapter(tiny_model(), LORA, seed=0).save_pretrained(tmp_path / "checkpoint")
    saved = json.loads((tmp_path / "checkpoint" / "adapter_config.json").read_text())
    assert saved["target_modules"] == sorted(saved["target_modules"])


def test_an_adapter_of_another_shape_is_refused(model_directory: Path, tmp_path: Path) -> None:
    from thinkprior.models import load_model

    policy = add_adapter(load_model(model_directory), LORA, seed=0)
    policy.save_pretrained(tmp_path / "checkpoint")
    other = add_adapter(load_model(model_directory), Lora(rank=2, alpha=8.0), seed=0)
    with pytest.raises(InputError, match="another rank"):
        load_adapter(other, tmp_path / "checkpoint")
