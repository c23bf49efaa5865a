"""The R^t-trees (Yu et al. 2015) and the paper's baselines. See docs/papers/location_aware.md."""

from collections.abc import Callable
from typing import Any, Final

from tocsin.index.protocols import ALL_MATCHES, REGIONS_WITH_KEYWORDS, SIMILAR_ENOUGH, Recent, Registration
from tocsin.papers.location_aware.growing_trees import CountedRTree, ListedRTree, recent_trees
from tocsin.papers.location_aware.inverted_r_tree import InvertedRTreeBuilder
from tocsin.papers.location_aware.keyword_first import KeywordFirstBuilder
from tocsin.papers.location_aware.rt_trees import (
    RTPlusPlusTreeBuilder,
    RTPlusTreeBuilder,
    RTTreeBuilder,
    SpatialFirstBuilder,
)


def of_regions(
    name: str,
    builder: Callable[..., Any],
    source: str,
    *,
    is_baseline: bool = True,
    recent: Callable[..., Recent] | None = None,
    **options: int,
) -> Registration:
    """The registration of a structure of regions with keywords."""
    also = {SIMILAR_ENOUGH: lambda **options: builder(**options).alike}
    return Registration(
        name, ALL_MATCHES, REGIONS_WITH_KEYWORDS, source, is_baseline, builder, options, also, recent=recent
    )


RT_TREE: Final = of_regions(
    "rt_tree",
    RTTreeBuilder,
    "R^t-tree (Yu et al. 2015, section 3)",
    is_baseline=False,
    recent=recent_trees(CountedRTree, all_words=True),
    least=25,
    most=50,
)
RT_PLUS_TREE: Final = of_regions(
    "rt_plus_tree",
    RTPlusTreeBuilder,
    "R^t+-tree (Yu et al. 2015, section 4)",
    is_baseline=False,
    recent=recent_trees(CountedRTree, all_words=False),
    least=25,
    most=50,
    selection=3,
)
RT_PLUS_PLUS_TREE: Final = of_regions(
    "rt_plus_plus_tree",
    RTPlusPlusTreeBuilder,
    "R^t++-tree (Yu et al. 2015, section 5)",
    is_baseline=False,
    recent=recent_trees(ListedRTree, all_words=False),
    least=25,
    most=50,
    selection=3,
    finish=1,
)
INVERTED_R_TREE: Final = of_regions(
    "inverted_r_tree",
    InvertedRTreeBuilder,
    "IR-tree (Cong, Jensen, Wu 2009), as used by Yu et al. 2015, section 2.3",
    least=25,
    most=50,
)
SPATIAL_FIRST: Final = of_regions(
    "spatial_first", SpatialFirstBuilder, "R-tree, then keywords (Yu et al. 2015, section 2.3)", least=25, most=50
)
KEYWORD_FIRST: Final = of_regions(
    "keyword_first",
    KeywordFirstBuilder,
    "counting (Yan and Garcia-Molina 1994), then regions (Yu et al. 2015, section 2.3)",
)
