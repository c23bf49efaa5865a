"""Templates of destinations: what is sent, in the receiver's words.

`shape` says which parts a template has. `worker` renders them in a process of its own, which has bounds of time and
memory, and `renderer` is the service's side of it. `filling` fills a message, or says why it stays plain.
"""
