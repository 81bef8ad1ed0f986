"""Reads times of the interface."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Optional

_FORM = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z", re.ASCII)


def seconds_of(text: str) -> Optional[float]:
    """The Unix time of a time in UTC, with or without a fraction of a second; ``None`` for any other text."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    try:
        whole = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return whole.timestamp() + float(match[2] or 0)
