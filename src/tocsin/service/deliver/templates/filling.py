"""Messages filled by the template of their destination. If it fails, the message stays plain."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from tocsin.errors import MissingExtra
from tocsin.service.deliver.protocols import Message
from tocsin.service.deliver.registry import Outlet
from tocsin.service.deliver.templates.renderer import Renderer, TemplateError
from tocsin.service.deliver.templates.shape import stored_template
from tocsin.service.deliver.verdict import shown
from tocsin.service.problems import Problem

_LOG: Final = logging.getLogger("tocsin.service")
_REST_MS: Final = 60_000
"""How long a template is not tried that took too long: others wait for the process, too."""


async def filled(renderer: Renderer, outlet: Outlet, template: Mapping[str, Any], message: Message) -> Message:
    """A message with the parts of a template; raises `TemplateError`."""
    try:
        parts = await renderer.rendered(template, message)
        return message._replace(parts=outlet.kind.checked_parts(parts))
    except Problem as problem:
        raise TemplateError(problem.detail) from None
    except MissingExtra as error:
        raise TemplateError(str(error)) from None
    except TemplateError:
        raise
    except Exception as error:  # of a package's kind
        raise TemplateError(f"{type(error).__name__}: {error}") from error


async def filled_or_plain(renderer: Renderer, outlet: Outlet, message: Message, now: int) -> tuple[Message, str]:
    """A message to an outlet, and why its template failed. `now` is the steady time in milliseconds."""
    template = stored_template(outlet.target.options)
    if template is None or not outlet.kind.parts:
        outlet.template_error = ""
        return message, ""
    if template == outlet.slow_template[0] and now < outlet.slow_template[1]:
        return message, outlet.template_error
    try:
        full = await filled(renderer, outlet, template, message)
    except TemplateError as error:
        reason = shown(f"the template failed, so the plain document was sent: {error}")
        if reason != outlet.template_error:
            _LOG.warning("%s: %s", outlet.target.id, reason)
        if error.is_late:
            outlet.slow_template = template, now + _REST_MS
        outlet.template_error = reason
        return message, reason
    outlet.template_error = ""
    return full, ""
