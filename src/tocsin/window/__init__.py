"""Sliding windows: the best recent messages for each subscription."""

from tocsin.window.answer import WindowAnswer, WindowStats
from tocsin.window.durable import DurableWindow
from tocsin.window.explaining import WindowExplanation
from tocsin.window.window import Window

__all__ = ["DurableWindow", "Window", "WindowAnswer", "WindowExplanation", "WindowStats"]
