"""Messages between the verifier and its worker processes: four bytes of length, then JSON."""

import json
from typing import BinaryIO


def send(stream: BinaryIO, message: object) -> None:
    """Write one message."""
    body = json.dumps(message).encode()
    stream.write(len(body).to_bytes(4, "big") + body)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Read one message.

    Raises:
        EOFError: The other side is gone.
    """
    header = stream.read(4)
    body = stream.read(int.from_bytes(header, "big")) if len(header) == 4 else b""
    if not body:
        raise EOFError
    return json.loads(body)
