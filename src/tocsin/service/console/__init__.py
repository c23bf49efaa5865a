"""The console: a page that shows a service, over its public calls alone.

Its sources are in the folder `console` of the repository. `make console` builds them into `built`, which is part of the
package, so that nobody who installs it needs Node. `files` serves them.
"""
