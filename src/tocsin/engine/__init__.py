"""How are subscriptions held and matched? Today in one call with nothing kept; the changing engine comes next."""

from tocsin.engine.answer import Answer, Stats
from tocsin.engine.explaining import explain
from tocsin.engine.loading import load_segments
from tocsin.engine.matching import Matched, empty_table, match, match_chunks

__all__ = ["Answer", "Matched", "Stats", "empty_table", "explain", "load_segments", "match", "match_chunks"]
