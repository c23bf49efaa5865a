"""Does a paper's experiment come out here, too? One file a figure says what to run and what shape to expect."""
