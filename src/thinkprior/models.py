"""Loading a model and its tokenizer from a directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thinkprior.artifacts import read_json
from thinkprior.errors import InputError

_WAY_OUT = "Delete the model's folder and run Snakemake again: it is made or fetched anew."


def _way_out(path: Path) -> str:
    """What to do about a model folder: a linked one is somebody's own, or a download."""
    for folder in (path, path.parent):
        if folder.is_symlink():
            return f"It is a link to {folder.resolve()}: mend the model there, or fetch it anew."
    return _WAY_OUT


def load_tokenizer(directory: Path | str) -> Any:
    """The tokenizer of a model directory, padding on the left.

    A directory that names the generic class gets just that: `AutoTokenizer` would choose by the
    model's type instead, and read the miniature's vocabulary with Qwen's splitting rules.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    path = _checked(directory)
    for name in ("tokenizer_config.json", "tokenizer.json"):
        if not (path / name).exists():
            raise InputError(f"{path}: no {name} there, so no tokenizer. {_way_out(path)}")
    settings = read_json(path / "tokenizer_config.json")
    generic = settings.get("tokenizer_class") in ("TokenizersBackend", "PreTrainedTokenizerFast")
    loader = PreTrainedTokenizerFast if generic else AutoTokenizer
    with _loading(path / "tokenizer.json"):
        return loader.from_pretrained(str(directory), padding_side="left")


def load_model(directory: Path | str, dtype: str = "float32", device: str = "cpu") -> Any:
    """The causal language model of a directory, in evaluation mode.

    Raises:
        InputError: when its weights are missing, damaged, or not those of its configuration; the
            library would make up those that are missing.
    """
    import torch

    _check_device(device)
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    path = _checked(directory)
    with _loading(path):
        model, info = AutoModelForCausalLM.from_pretrained(
            str(path), dtype=getattr(torch, dtype), output_loading_info=True
        )
    if wrong := sorted(map(str, (*info["missing_keys"], *info["mismatched_keys"]))):
        raise InputError(
            f"{path}: {len(wrong)} weights of its configuration are not in its files, such as "
            f"{wrong[0]}. {_way_out(path)}"
        )
    return model.to(device).eval()


def _check_device(device: str) -> None:
    import torch

    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise InputError(f"engine.device: no device is called {device!r}; cpu or cuda.") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"engine.device: {device} is asked for, but torch sees no GPU here. Set it to cpu, or "
            "install the CUDA build of torch and check nvidia-smi."
        )


@contextmanager
def _loading(path: Path) -> Iterator[None]:
    """Make the libraries' many errors about files that they cannot use one."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{path}: it cannot be loaded: {first}. {_way_out(path)}") from error


def _checked(directory: Path | str) -> Path:
    path = Path(directory)
    if not (path / "config.json").exists():
        raise InputError(f"{path}: no config.json there, so no model. {_way_out(path)}")
    return path
