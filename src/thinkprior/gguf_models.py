"""Models in GGUF files, turned once into fp32 safetensors with a tokenizer.

GGUF is the format of llama.cpp. Its weights are mostly quantised: converting them gives the values
that the quantised weights stand for, and no precision back.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thinkprior.errors import InputError

_WAY_OUT = "Take the model as safetensors, by `repository` or `path` in the configuration."


def convert_gguf(file: Path, directory: Path, report: Callable[[str], None]) -> None:
    """Write a GGUF file's model and tokenizer as `save_pretrained` does.

    transformers leaves out how the tokenizer splits text before it merges bytes, which the file
    names (`tokenizer.ggml.pre`); here it is put back.

    Args:
        file: the GGUF file.
        directory: takes the model.
        report: takes lines of progress.

    Raises:
        InputError: for a file that cannot be read, a way of splitting that is not known here, or
            end tokens that differ between the file and what came out.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    logging.disable_progress_bar()
    splitting, end = _facts(file)
    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    tokenizer.backend_tokenizer.pre_tokenizer = _splitter(file, splitting)
    # The library's progress bar goes to standard error, past its switch for bars.
    with contextlib.redirect_stderr(io.StringIO()):
        model = AutoModelForCausalLM.from_pretrained(
            **where, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
        )
    ends = {end, tokenizer.eos_token_id, model.generation_config.eos_token_id}
    if len(ends) != 1:
        raise InputError(
            f"{file.name}: its end token is {end}, but what came out of it has "
            f"{tokenizer.eos_token_id} (tokenizer) and {model.generation_config.eos_token_id} "
            f"(generation). {_WAY_OUT}"
        )
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    report(
        f"{file.name}: {model.num_parameters():,} parameters in fp32; text is split as "
        f"{splitting}, the end token is {end}"
    )


def _facts(file: Path) -> tuple[str, int]:
    """How a file says that text is split, and its end token."""
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise InputError(
            "reading GGUF files needs a package that is not there: pip install gguf."
        ) from error
    try:
        fields = GGUFReader(file).fields
        splitting = fields["tokenizer.ggml.pre"].contents()
        end = fields["tokenizer.ggml.eos_token_id"].contents()
    except (ValueError, KeyError, IndexError, OSError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{file.name}: not readable as a GGUF model: {reason}.") from error
    return str(splitting), int(end)


def _splitter(file: Path, splitting: str) -> Any:
    from tokenizers import pre_tokenizers

    if splitting != "smollm":
        raise InputError(
            f"{file.name}: its tokenizer splits text by the rule {splitting!r}; the one that is "
            f"known here is 'smollm'. {_WAY_OUT}"
        )
    # In llama.cpp: first each digit for itself, then what GPT-2's expression finds. It matters
    # where white space of two characters or more stands before a digit.
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
