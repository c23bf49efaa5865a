"""What lies on disk? Immutable sets of subscriptions as memory-mapped arrays with a manifest, and folders of them."""

from tocsin.segment.assembling import Part, all_ids, assemble, require_suitable
from tocsin.segment.builder import SegmentBuilder, build_segment
from tocsin.segment.folder import IndexFolder, open_index, write_index
from tocsin.segment.relaxed import relaxed_index
from tocsin.segment.segment import Segment
from tocsin.segment.segment_set import Answered, Ranked, SegmentSet, best_of_all, top
from tocsin.segment.storage import open_segment, write_segment

__all__ = [
    "Answered",
    "IndexFolder",
    "Part",
    "Ranked",
    "Segment",
    "SegmentBuilder",
    "SegmentSet",
    "all_ids",
    "assemble",
    "best_of_all",
    "build_segment",
    "open_index",
    "open_segment",
    "relaxed_index",
    "require_suitable",
    "top",
    "write_index",
    "write_segment",
]
