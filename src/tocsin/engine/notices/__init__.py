"""Warnings: what subscriptions ask that no event has, or that can never hold."""

from tocsin.engine.notices.telling import notices, notices_of

__all__ = ["notices", "notices_of"]
