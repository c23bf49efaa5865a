"""The oracle: what tocsin's specification says, in the plainest Python, independent of the library."""
