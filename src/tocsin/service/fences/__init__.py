"""Fences over published events: objects that enter, stay in and leave the subscriptions that name a fence.

`areas` has the subscriptions of each fence, in an engine of its own, and `hosted` the objects. Both are changed by the
committing thread only.
"""
