"""From one message to what answers it: whose it is, what it asks for, and whether that may be had."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tenure.surfaces.dns import transfer, tsig, wire
from tenure.surfaces.dns.access import Access
from tenure.surfaces.dns.answer import answer
from tenure.surfaces.dns.followers import Asker, Followers
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.transfer import Archive, Page, Wanted
from tenure.surfaces.dns.tsig import Clock, Key, Refusal, Signature, Signer
from tenure.surfaces.dns.views import View, Views
from tenure.surfaces.dns.wire import Edns, WireError

OUTCOMES: Final = {
    0: "noerror", 1: "formerr", 2: "servfail", 3: "nxdomain", 4: "notimp", 5: "refused", 9: "notauth",
}  # fmt: skip
"""How answers are counted, by their rcode."""

_ERRORS: Final = {tsig.BADSIG: "badsig", tsig.BADKEY: "badkey", tsig.BADTIME: "badtime", tsig.BADTRUNC: "badtrunc"}

Messages = Iterator[bytes | Page]


class Responder:
    """Answers one message at a time. Never raises, whatever the octets are.

    Args:
        views: What there is to see, and whose signatures are known.
        access: Who may take zones.
        counters: What happened, by name: an outcome (`noerror`, ...), `dropped` (no answer is right), `transfers` that
            were asked for, what was given (`axfr`, `ixfr`, `soa_alone`), `strangers` (who may not have them), `signed`,
            and `badsig`, `badkey`, `badtime`, `badtrunc`.
        archive: A zone's older steps.
        followers: Told of what secondaries ask for and are given.
        clock: For signatures.
    """

    def __init__(
        self,
        views: Views,
        access: Access,
        counters: Counter[str],
        archive: Archive | None = None,
        clock: Clock = time.time,
        *,
        followers: Followers | None = None,
    ) -> None:
        self.counters = counters
        self._views = views
        self._access = access
        self._archive = archive
        self._followers = followers
        self._clock = clock

    def datagram(self, query: bytes, peer: str, view: View) -> bytes | None:
        """The datagram that answers one, or None where silence is right."""
        if tsig.KIND not in query:  # the usual case, with as little as can be
            response = answer(query, view.table, False)
            if response is None or response[3] & 15 != wire.FORMERR:
                return self._counted(response)
        try:
            signature = _signature(query)
        except WireError:
            return self._counted(_malformed(query))
        if signature is None:
            return self._counted(self._datagram(query, peer, view.vrf, view.table))
        return self._signed_datagram(signature, peer, view)

    def stream(self, query: bytes, peer: str, view: View) -> Messages:
        """The messages that answer one over TCP, none where silence is right; see `transfer` for what they are."""
        try:
            signature = _signature(query)
        except WireError:
            return _only(self._counted(_malformed(query)))
        if signature is None:
            return self._stream(query, peer, view.vrf, view.table)
        return self._signed_stream(signature, peer, view)

    def _signed_datagram(self, signature: Signature, peer: str, view: View) -> bytes | None:
        key = self._verified(signature)
        if not isinstance(key, Key):
            return self._counted(self._refused(signature, key))
        vrf, table = view.signed(key)
        answered = self._counted(self._datagram(signature.message, peer, vrf, table, key))
        return None if answered is None else Signer(key, signature.mac, self._clock).sign(answered)

    def _signed_stream(self, signature: Signature, peer: str, view: View) -> Messages:
        key = self._verified(signature)
        if not isinstance(key, Key):
            return _only(self._counted(self._refused(signature, key)))
        messages = self._stream(signature.message, peer, *view.signed(key), key)
        signer = Signer(key, signature.mac, self._clock)
        return (signer.sign(each) if isinstance(each, bytes) else each for each in messages)

    def _datagram(self, query: bytes, peer: str, vrf: str, table: ZoneTable, key: Key | None = None) -> bytes | None:
        reserve = 0 if key is None else key.room
        if transfer.maybe(query) and (wanted := transfer.asked(query)) is not None:
            room = _room(wanted.question.edns) - reserve
            permitted = self._permits(wanted, peer, vrf, key)
            given = transfer.datagram(query, wanted, table, permitted=permitted, room=room, given=self.counters)
            asker = self._asker(wanted, peer, vrf, table, key) if permitted else None
            for _ in () if asker is None else asker.noted((given,)):
                pass
            return given
        return answer(query, table, False, reserve)

    def _stream(self, query: bytes, peer: str, vrf: str, table: ZoneTable, key: Key | None = None) -> Messages:
        if transfer.maybe(query) and (wanted := transfer.asked(query)) is not None:
            permitted = self._permits(wanted, peer, vrf, key)
            archive, given = self._archive, self.counters
            messages = transfer.transfer(query, wanted, table, permitted=permitted, archive=archive, given=given)
            asker = self._asker(wanted, peer, vrf, table, key) if permitted else None
            return messages if asker is None else asker.noted(messages)
        return _only(self._counted(answer(query, table, True, 0 if key is None else key.room)))

    def _permits(self, wanted: Wanted, peer: str, vrf: str, key: Key | None) -> bool:
        self.counters["transfers"] += 1
        permitted = self._access.permits(vrf, peer, None if key is None else key.id)
        self.counters["strangers"] += not permitted
        return permitted

    def _asker(self, wanted: Wanted, peer: str, vrf: str, table: ZoneTable, key: Key | None) -> Asker | None:
        """Who asks, if it is a secondary, and for a zone that it can have."""
        served = table.zones.get(wanted.question.name)
        if self._followers is None or served is None or served.closed:
            return None
        secondaries = self._access.secondaries(vrf, peer, None if key is None else key.id)
        return self._followers.asker(secondaries, peer, served, wanted) if secondaries else None

    def _verified(self, signature: Signature) -> Key | Refusal:
        self.counters["signed"] += 1
        return tsig.verify(signature, self._views.keys, self._clock())

    def _refused(self, signature: Signature, refusal: Refusal) -> bytes | None:
        message = signature.message
        if message[2] & 0x80 or not refusal.error:
            return _malformed(message)
        self.counters[_ERRORS[refusal.error]] += 1
        try:
            asked = wire.decode(message)
        except WireError as error:
            reply = wire.reply(message, wire.NOTAUTH, error.shown)
        else:
            reply = wire.reply(message, wire.NOTAUTH, asked.end, asked.edns)
        return tsig.refused(reply, signature, refusal, self._clock())

    def _counted(self, response: bytes | None) -> bytes | None:
        self.counters["dropped" if response is None else OUTCOMES[response[3] & 15]] += 1
        return response


def _signature(query: bytes) -> Signature | None:
    """The signature, if there is one; raises WireError where it is malformed."""
    return tsig.found(query) if tsig.maybe(query) and len(query) >= wire.HEADER else None


def _malformed(query: bytes) -> bytes | None:
    return None if query[2] & 0x80 else wire.reply(query, wire.FORMERR, 0)


def _only(response: bytes | None) -> Messages:
    return iter(() if response is None else (response,))


def _room(edns: Edns | None) -> int:
    return wire.PLAIN_SIZE if edns is None else min(max(edns.size, wire.PLAIN_SIZE), wire.EDNS_SIZE)
