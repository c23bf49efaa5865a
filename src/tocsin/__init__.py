"""Match streams of events against millions of standing subscriptions, exactly."""

__version__ = "0.1.0"
