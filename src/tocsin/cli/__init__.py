"""How is it used from a shell? One file a command; the extras are imported only when a command needs them."""
