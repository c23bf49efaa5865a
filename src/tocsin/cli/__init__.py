"""The command line: one module for each command. Optional packages are imported only when a command needs them."""
