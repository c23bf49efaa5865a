"""What every test shares: Hypothesis profiles, and one Spark session made when the first test asks for it."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Deadlines are off because the first example compiles kernels; `thorough` is for a night, not for every change.
settings.register_profile("default", deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
