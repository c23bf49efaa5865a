"""BE-trees that shrink, too: nobody but tests can ask an index for that."""
