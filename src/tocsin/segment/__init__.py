"""Segments: immutable sets of subscriptions as memory-mapped arrays with a manifest, and index folders of segments.

`snapshots` matches events against several segments as one.
"""

from tocsin.segment.assembling import all_ids, assemble, merged, require_suitable
from tocsin.segment.builder import SegmentBuilder, build_segment
from tocsin.segment.folder import IndexFolder, current_segments, open_index
from tocsin.segment.publishing import Publication, write_index
from tocsin.segment.segment import Segment, SegmentSnapshot, Snapshot
from tocsin.segment.snapshots import Snapshots
from tocsin.segment.storage import open_segment, write_segment

__all__ = [
    "IndexFolder",
    "Publication",
    "Segment",
    "SegmentBuilder",
    "SegmentSnapshot",
    "Snapshot",
    "Snapshots",
    "all_ids",
    "assemble",
    "build_segment",
    "current_segments",
    "merged",
    "open_index",
    "open_segment",
    "require_suitable",
    "write_index",
    "write_segment",
]
