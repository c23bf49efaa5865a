"""BE-trees that can also shrink. Only tests use them, because no index deletes in place."""
