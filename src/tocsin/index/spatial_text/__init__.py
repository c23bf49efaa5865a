"""Indexes of regions with keywords: which subscriptions a message satisfies, or resembles enough. One folder each."""
