"""An index of our own: each condition is listed under its narrowest range, in the order of where the ranges begin."""

import numpy as np

from tocsin.indexes import ALL_MATCHES, ANY_EXPRESSION, CandidateIndex, Registration


class Narrowest(CandidateIndex):
    """Sorted lists of ranges, one for each attribute and type. A condition without a range is always a candidate."""

    def make(self, count):
        """Choose a range for each condition, and sort the ranges by attribute and low end."""
        needs = self.needs
        width = (needs.highs - needs.lows) / needs.sizes[needs.fields]
        order = np.lexsort((width, needs.owners))
        owners, first = np.unique(needs.owners[order], return_index=True)
        chosen = order[first]
        chosen = chosen[np.lexsort((needs.lows[chosen], needs.fields[chosen]))]
        return {
            "owners": needs.owners[chosen],
            "fields": needs.fields[chosen],
            "lows": needs.lows[chosen],
            "highs": needs.highs[chosen],
            "always": np.setdiff1d(np.arange(count), owners).astype(np.int32),
        }

    def are_sound(self, count):
        """Every condition is in one list, and each list is in order."""
        lists = self.lists
        if set(lists) != {"owners", "fields", "lows", "highs", "always"}:
            return False
        same = len({len(lists[name]) for name in ("owners", "fields", "lows", "highs")}) == 1
        numbers = np.sort(np.concatenate([lists["owners"], lists["always"]]))
        return same and np.array_equal(numbers, np.arange(count)) and bool((np.diff(self.keys()) >= 0).all())

    def keys(self):
        """One number for field and low end."""
        return self.lists["fields"].astype(np.int64) << 32 | self.lists["lows"]

    def candidates(self, values):
        """In the list of each value, the ranges that begin at or before it, and do not end before it."""
        lists, keys = self.lists, self.keys()
        fields = values.fields.astype(np.int64) << 32
        first, stop = np.searchsorted(keys, fields), np.searchsorted(keys, fields | values.codes, side="right")
        lengths = stop - first
        which = np.repeat(np.arange(len(lengths)), lengths)
        rows = np.arange(lengths.sum()) + (first - np.cumsum(lengths) + lengths)[which]
        meets = lists["highs"][rows] >= values.codes[which]
        always = lists["always"]
        events = [values.events[which[meets]], np.repeat(np.arange(len(values)), len(always))]
        return np.concatenate(events), np.concatenate([lists["owners"][rows[meets]], np.tile(always, len(values))])


NARROWEST = Registration("narrowest", ALL_MATCHES, ANY_EXPRESSION, "an example", False, lambda: Narrowest)
