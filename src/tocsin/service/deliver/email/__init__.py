"""Destinations of kind `email`: deliveries that the service hands to a mail server.

`channel` speaks SMTP, and `composing` makes a mail of a message.
"""
