"""What lies on disk? Immutable sets of subscriptions as memory-mapped arrays with a manifest, and folders of them.

`snapshots` is how they are asked, several as one, by whoever matches events.
"""

from tocsin.segment.assembling import all_ids, assemble, merged, require_suitable
from tocsin.segment.builder import SegmentBuilder, build_segment
from tocsin.segment.folder import IndexFolder, current_segments, open_index
from tocsin.segment.newest import Newest
from tocsin.segment.publishing import Publication, write_index
from tocsin.segment.segment import Segment, SegmentSnapshot, Snapshot
from tocsin.segment.snapshots import Snapshots
from tocsin.segment.storage import open_segment, write_segment

__all__ = [
    "IndexFolder",
    "Newest",
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
