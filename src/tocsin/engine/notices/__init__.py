"""Warnings about conditions that no event satisfies, or that can never hold."""

from tocsin.engine.notices.asking import Known
from tocsin.engine.notices.telling import known_to, notices, notices_of

__all__ = ["Known", "known_to", "notices", "notices_of"]
