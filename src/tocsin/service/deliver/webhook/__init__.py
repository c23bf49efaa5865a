"""Destinations of kind `webhook`: deliveries that the service posts to a URL.

`endpoint` posts, `urls` says what a URL may be, and `signing` how requests are signed.
"""
