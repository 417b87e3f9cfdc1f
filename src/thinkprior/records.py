"""The record that each job leaves: what it called, what it read and what it wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkprior.checksums import remembered_digest
from thinkprior.digest import host, settings_digest


def write_record(
    path: Path | str,
    *,
    rule: str,
    function: str,
    arguments: Mapping[str, Any],
    inputs: Sequence[Path | str],
    outputs: Sequence[Path | str],
    code: str,
    derived: bool,
    usage: Mapping[str, Any],
) -> None:
    """Write how an artifact was made.

    Args:
        path: the record, JSON.
        rule: the workflow rule.
        function: what the rule called, as `module:name`.
        arguments: its keyword arguments, settings and seeds included.
        inputs: files and directories that were read; their checksums are taken.
        outputs: files and directories that were written; theirs too, the record itself left out.
        code: digest of the code that ran.
        derived: whether calling the function again gives the same bytes from the same inputs at
            little cost, so that an integrity check may do so.
        usage: what the call took, such as `seconds`.
    """
    record = {
        "rule": rule,
        "function": function,
        "arguments": arguments,
        "settings_digest": settings_digest(arguments.get("settings", {})),
        "code_digest": code,
        "derived": derived,
        "inputs": {str(item): remembered_digest(item) for item in inputs},
        "outputs": {
            str(item): remembered_digest(item) for item in outputs if str(item) != str(path)
        },
        "usage": dict(usage),
        "host": host(),
    }
    # The order of the arguments' own mappings is that of a table's rows, so keys stay unsorted.
    Path(path).write_text(json.dumps(record, indent=2, default=str) + "\n", encoding="utf-8")
