"""Rules of Sigma."""

from tocsin.language.dialects.sigma.reading import Sigma

__all__ = ["Sigma"]
