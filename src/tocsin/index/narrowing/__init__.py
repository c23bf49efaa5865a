"""What do Matchers that find by a part of an expression have in common? They verify the rest."""

from __future__ import annotations

from tocsin.index.narrowing.index import Narrowing

__all__ = ["Narrowing"]
