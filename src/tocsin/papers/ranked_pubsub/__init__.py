"""The IR-tree (Machanavajjhala et al. 2008) and the paper's baselines. See docs/papers/ranked_pubsub.md.

The product itself ranks with the paper's SOPT-R-tree: `index.scored`.
"""

from typing import Final

from tocsin.index.scored.r_trees import scored_r_trees
from tocsin.index.scored.tree import BRANCHING, of_intervals
from tocsin.papers.ranked_pubsub.interval_tree import interval_trees
from tocsin.papers.ranked_pubsub.ir_tree import ir_trees
from tocsin.papers.ranked_pubsub.segment_tree import segment_trees

IR_TREE: Final = of_intervals(
    "ir_tree", ir_trees, "IR-tree (Machanavajjhala et al. 2008, section 3.1)", is_baseline=False, branching=BRANCHING
)
INTERVAL_TREE: Final = of_intervals(
    "interval_tree", interval_trees, "scored interval tree (Machanavajjhala et al. 2008, section 2.2.2)"
)
SEGMENT_TREE: Final = of_intervals(
    "segment_tree", segment_trees, "scored segment tree (Machanavajjhala et al. 2008, section 2.2.1)"
)
SCORED_R_TREE: Final = of_intervals(
    "scored_r_tree",
    scored_r_trees,
    "scored R-tree (Machanavajjhala et al. 2008, section 2.2.3)",
    branching=BRANCHING,
)
