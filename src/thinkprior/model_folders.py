"""Model folders that were not made here, checked before any work starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from thinkprior.configuration import Configuration
from thinkprior.downloads import Lock, Repository, place_of
from thinkprior.errors import InputError
from thinkprior.families import check_family
from thinkprior.model_links import STEP

NEEDED = ("config.json", "tokenizer.json", "tokenizer_config.json")


def check_folder(place: str, folder: Path | str, engine: str, device: str) -> None:
    """Refuse a folder without a whole model that the engine runs.

    Args:
        place: the key that names it, for the message.
        folder: the folder.
        engine: `transformers` or `vllm`.
        device: torch device.

    Raises:
        InputError: naming what is missing.
    """
    path = Path(folder)
    where = f"{place}: {folder}"
    if not path.is_dir():
        raise InputError(f"{where} is no folder. Mend the path, or put the model there.")
    if missing := [name for name in NEEDED if not (path / name).is_file()]:
        raise InputError(
            f"{where} lacks {', '.join(missing)}. A model folder holds {', '.join(NEEDED)} and "
            "*.safetensors, as `save_pretrained` writes them."
        )
    _check_weights(where, path)
    check_family(where, read_config(path / "config.json"), engine, device)


def check_models(config: Configuration) -> None:
    """Refuse pretrained models that cannot be used, as far as they are at hand.

    Folders are checked whole. Of models that were fetched or converted already it is held against
    the engine what they are; of the others, that is done once they are.

    Args:
        config: the configuration.

    Raises:
        InputError: naming the entry and the way out.
    """
    engine, device = config.engine.name, config.engine.device
    for name, model in config.pretrained.items():
        place = f"pretrained.{name}.{model.kind}"
        found = Path("results", config.scale, "models", name, STEP, "config.json")
        if model.kind == "path":
            check_folder(place, model.path, engine, device)
        elif model.kind == "repository":
            asked = Repository(model.repository, (), model.revision, kind="model")
            commit = Lock(config.data.lock).commit(asked)
            found = place_of(asked, Path(config.data.folder) / "models", commit) / "config.json"
        if model.kind in ("repository", "package") and found.is_file():
            shown = f"{place}: {model.repository or model.package}"
            check_family(shown, read_config(found), engine, device)


def _check_weights(where: str, path: Path) -> None:
    if not list(path.glob("*.safetensors")):
        others = sorted(item.name for item in path.iterdir() if item.suffix in (".bin", ".pth"))
        found = f"; {', '.join(others[:3])} cannot be used" if others else ""
        raise InputError(
            f"{where} has no weights (*.safetensors){found}. Load the model with transformers and "
            "write it with `save_pretrained`."
        )
    index = path / "model.safetensors.index.json"
    if index.is_file():
        parts = set(read_config(index).get("weight_map", {}).values())
        if missing := sorted(str(part) for part in parts if not (path / str(part)).is_file()):
            raise InputError(
                f"{where} lacks {len(missing)} of the {len(parts)} files that {index.name} names, "
                f"such as {missing[0]}. Copy the model anew."
            )


def read_config(path: Path) -> dict[str, Any]:
    """A model's `config.json`, or another of its JSON objects.

    Raises:
        InputError: when it is none.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON: {error}. Copy the model anew.") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: holds no JSON object. Copy the model anew.")
    return values
