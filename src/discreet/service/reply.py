"""What leaves a worker."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reply:
    """What leaves: a status, a content type, the bytes, and headers besides."""

    status: int
    kind: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
