"""Pipelines: match a continuous stream of events against changing subscriptions, as one file describes.

tocsin pipeline new pipeline.toml && tocsin pipeline run pipeline.toml
"""

from tocsin.pipeline.description import Pipeline, read_pipeline

__all__ = ["Pipeline", "read_pipeline"]
