"""How a rendered artifact was made: the record beside it, which the report shows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkprior.digest import file_digest, host, settings_digest


def write_record(
    path: Path | str,
    *,
    rule: str,
    function: str,
    inputs: Sequence[Path | str],
    outputs: Sequence[Path | str],
    params: Mapping[str, Any],
    seconds: float,
) -> None:
    """Write how a rendered artifact was made, for the report.

    Args:
        path: the record, JSON.
        rule: the workflow rule.
        function: what the rule called, as `module:name`.
        inputs: files that were read; their checksums are taken.
        outputs: files that were written; theirs too, the record itself left out.
        params: what the rule was given; its entry `code` is the digest of the code.
        seconds: what the call took.
    """
    settings = {name: value for name, value in params.items() if name != "code"}
    record = {
        "rule": rule,
        "function": function,
        "settings_digest": settings_digest(settings),
        "code_digest": params.get("code", ""),
        "inputs": {str(item): file_digest(item) for item in inputs},
        "outputs": {str(item): file_digest(item) for item in outputs if str(item) != str(path)},
        "seconds": round(seconds, 3),
        "host": host(),
    }
    Path(path).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
