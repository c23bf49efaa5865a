import asyncio
from contextlib import suppress

from tocsin.service.deliver.hosts import MEMBERS, Host, checked_host
from tocsin.service.deliver.protocols import Sending
from tocsin.service.deliver.resolver import Unreachable
from tocsin.service.deliver.verdict import DELIVERED, REFUSED, Verdict, shown

PAGER_MEMBERS = {**MEMBERS, "pin": {"type": "string", "description": "What the receiver asks for"}}


class Pager(Sending):
    name = "pager"
    about = "the service sends lines over TCP"
    members = PAGER_MEMBERS
    required = ("host", "port")
    secret = "pin"

    def checked(self, record, *, allow_private):
        return checked_host(record, 7000, allow_private=allow_private)._asdict()

    def secret_goes_to(self, options):
        return Host(options["host"], options["port"])

    def channel(self, options, around):
        return Line(Host(options["host"], options["port"]), around)


class Line:
    def __init__(self, host, around):
        self.host, self.around = host, around

    async def send(self, message, secrets):
        resolver, allow_private = self.around.resolver, self.around.allow_private
        address, *_ = await resolver.permitted(self.host, allow_private=allow_private)
        try:
            reader, writer = await asyncio.open_connection(address, self.host.port)
        except OSError as error:
            raise Unreachable(f"{self.host} cannot be connected to: {error}") from None
        pin = secrets[0].text if secrets else ""
        try:
            writer.write(f"{pin} {message.key} ".encode() + message.body + b"\n")
            answer = (await reader.readline()).decode().strip()
        except OSError as error:
            raise Unreachable(f"the connection failed: {error}") from None
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        if not answer:
            raise Unreachable("there was no answer")
        if answer == "ok":
            return Verdict(DELIVERED)
        return Verdict(REFUSED, shown(answer), is_refusal=True)

    async def close(self):
        pass


PAGER = Pager()
