"""The functions over time of all subscriptions, as terms: which there are, how they are compared, and their values.

`registry` numbers the terms, and has their conditions as subscriptions of lower levels. `uses` says how conditions
compare them, `memory` has their values, and `matching` matches events with these.
"""
