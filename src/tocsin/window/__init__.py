"""Sliding windows: the best recent messages for each subscription."""

from tocsin.window.answer import WindowAnswer, WindowStats
from tocsin.window.explaining import WindowExplanation
from tocsin.window.window import Window

__all__ = ["Window", "WindowAnswer", "WindowExplanation", "WindowStats"]
