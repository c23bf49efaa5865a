"""How does a stream of events meet living subscriptions, day and night? One file describes it, one command runs it.

tocsin pipeline new pipeline.toml && tocsin pipeline run pipeline.toml
"""

from tocsin.pipeline.description import Pipeline, read_pipeline

__all__ = ["Pipeline", "read_pipeline"]
