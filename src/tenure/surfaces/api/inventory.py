"""What the nouns of the inventory have in common: made, listed, shown, changed and deleted alike."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.responses import Response

from tenure.errors import NotFound
from tenure.model.answers import MachineWithInterfaces, Made
from tenure.model.uses import Use
from tenure.store.interface import Page, Reads, Seen
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.consequences import EXAMPLE as TRIED
from tenure.surfaces.api.consequences import Loss, TriedOut, attempted, tried
from tenure.surfaces.api.operations import Asked, Noun, answer, gone
from tenure.surfaces.api.schemas import Page as PageOut


class Shelf(msgspec.Struct, kw_only=True):
    """One noun of the inventory.

    Attributes:
        noun: The noun that its operations belong to; `one` is its singular, and the name of its path parameter.
        path: Of one of them, up to its parameter. into: where they are made and listed.
        everywhere: Where all of them are listed, if that is another path.
        create, change, delete: The use that a request is.
        seen: A read of one. listed: a read of a page.
        show: The things as they are answered.
        loss: What deleting one takes along, or with changes what these do; None where nothing can go. Then a dry
            run says so. tried: Such an answer to a change: the thing, with the fields of `TriedOut`.
    """

    noun: Noun
    one: str
    path: str
    into: str
    body: type
    patch: type
    out: type
    query: type
    example: Any
    patch_example: Any
    shown: Any
    create: Callable[[Asked], Use]
    change: Callable[[Asked, str], Use]
    delete: Callable[[str], Use]
    seen: Callable[[Reads, str], Seen[Any]]
    listed: Callable[[Reads, Any, dict[str, str]], Page[Any]]
    show: Callable[[Backing, list[Any]], Awaitable[list[Any]]]
    refusals: tuple[str, ...] = ()
    everywhere: str | None = None
    loss: Callable[[Reads, Any, dict[str, object] | None], Loss | None] | None = None
    tried: type | None = None

    def offer(self) -> None:
        """Register the five operations."""
        self._offer_create()
        self._offer_list(self.into, f"list_{self.noun.name}")
        if self.everywhere is not None:
            self._offer_list(self.everywhere, f"list_all_{self.noun.name}")
        self._offer_show()
        self._offer_change()
        self._offer_delete()

    def _offer_create(self) -> None:
        @self.noun.operation(
            "POST",
            self.into,
            f"Make a {self.one}",
            name=f"create_{self.one}",
            body=self.body,
            example=self.example,
            gives={201: self.out},
            answers={201: self.shown},
            refusals=("not_found", "conflict", *self.refusals),
            creates=True,
        )
        async def create(asked: Asked) -> Response:
            reply = await asked.submit(self.create(asked))
            thing = made(reply.answer, self.one)
            where = f"{self.path}/{_id_of(thing)}"
            (out,) = await self.show(asked.backing, [thing])
            return answer(out, 201, revision=out.revision, location=where, replayed=reply.replayed)

    def _offer_list(self, path: str, name: str) -> None:
        @self.noun.operation(
            "GET",
            path,
            f"List {self.noun.name}",
            name=name,
            query=self.query,
            gives={200: PageOut[self.out]},  # type: ignore[name-defined]
            answers={200: PageOut([self.shown])},
            refusals=("not_found",),
        )
        async def list_(asked: Asked) -> Response:
            page = await asked.look(
                self.listed, asked.query, {name: asked.path(name) for name in asked.request.path_params}
            )
            return answer(PageOut(await self.show(asked.backing, page.items), page.next))

    def _offer_show(self) -> None:
        @self.noun.operation(
            "GET",
            f"{self.path}/{{{self.one}}}",
            f"Show a {self.one}",
            name=f"show_{self.one}",
            gives={200: self.out},
            answers={200: self.shown},
            refusals=("not_found",),
        )
        async def show(asked: Asked) -> Response:
            name = asked.path(self.one)
            seen = await asked.look(self.seen, name)
            (out,) = await self.show(asked.backing, [found(seen.value, self.one, name)])
            return answer(out, revision=out.revision)

    def _offer_change(self) -> None:
        @self.noun.operation(
            "PATCH",
            f"{self.path}/{{{self.one}}}",
            f"Change a {self.one}",
            name=f"change_{self.one}",
            body=self.patch,
            example=self.patch_example,
            gives={200: self.tried or self.out},
            answers={200: self.shown},
            refusals=("not_found", "conflict", "in_use", *self.refusals),
        )
        async def change(asked: Asked) -> Response:
            if asked.query.dry_run and self.tried is not None:
                loss, thing = await self._losing(asked, asked.body.changes())
                if loss is not None:
                    return await self._changed_dry(asked, loss, thing)
            reply = await asked.submit(self.change(asked, asked.path(self.one)))
            asked.backing.names.forget()
            (out,) = await self.show(asked.backing, [made(reply.answer, self.one)])
            return answer(out, revision=out.revision)

    async def _losing(self, asked: Asked, changes: dict[str, object] | None) -> tuple[Loss | None, Any]:
        """What a change of one, or without changes its deletion, takes along; and the thing."""
        assert self.loss is not None
        name = asked.path(self.one)
        thing = found((await asked.look(self.seen, name)).value, self.one, name)
        return await asked.backing.read(self.loss, asked.backing.committed.reads, thing, changes), thing

    async def _changed_dry(self, asked: Asked, loss: Loss, thing: Any) -> Response:
        """The thing as it would be, or as it is where the change would be refused, and what that would take along."""
        assert self.tried is not None
        would, refused = await attempted(asked, self.change(asked, asked.path(self.one)))
        (out,) = await self.show(asked.backing, [thing if refused else made(would, self.one)])
        more = msgspec.structs.asdict(await tried(asked, loss, refused))
        return answer(self.tried(**msgspec.structs.asdict(out), **more), revision=out.revision)

    def _offer_delete(self) -> None:
        dry: Any = None if self.loss is None else TriedOut

        @self.noun.operation(
            "DELETE",
            f"{self.path}/{{{self.one}}}",
            f"Delete a {self.one}",
            name=f"delete_{self.one}",
            gives={204: None} | ({200: dry} if dry else {}),
            answers={200: TRIED} if dry else {},
            refusals=("not_found", "in_use"),
        )
        async def delete(asked: Asked) -> Response:
            use = self.delete(asked.path(self.one))
            if asked.query.dry_run and self.loss is not None:
                loss, _ = await self._losing(asked, None)
                assert loss is not None
                _, refused = await attempted(asked, use)
                return answer(await tried(asked, loss, refused))
            await asked.submit(use)
            asked.backing.names.forget()
            return gone()

        if dry:
            described = "A dry run answers 200 with what would go, and why it would be refused, if it would."
            self.noun.operations[-1] = msgspec.structs.replace(self.noun.operations[-1], description=described)


def made(result: Any, one: str) -> Any:
    """The thing that a change answered."""
    if isinstance(result, MachineWithInterfaces):
        return result
    assert isinstance(result, Made)
    return getattr(result, one)


def found(thing: Any, kind: str, name: str) -> Any:
    """The thing that was read.

    Raises:
        NotFound: It is None.
    """
    if thing is None:
        raise NotFound(f"There is no {kind} {name!r}.", kind=kind, name=name)
    return thing


def id_named(seen: Seen[Any], kind: str, name: str, parameter: str = "") -> str:
    """The id of what a filter named."""
    thing = seen.value
    if thing is None:
        raise NotFound(f"There is no {kind} {name!r}.", kind=kind, name=name, parameter=parameter or kind)
    return _id_of(thing)


def network_id(reads: Reads, name: str | None) -> str:
    """The id of the network that a filter names, "" where it names none."""
    return id_named(reads.network(name), "network", name) if name else ""


def location_id(reads: Reads, name: str | None) -> str:
    """The id of the location that a filter names, "" where it names none."""
    return id_named(reads.location(name), "location", name) if name else ""


def vrf_id(reads: Reads, name: str | None) -> str:
    """The id of the vrf that a filter names, "" where it names none."""
    return id_named(reads.vrf(name), "vrf", name) if name else ""


def machine_id(reads: Reads, name: str | None) -> str:
    """The id of the machine that a filter names, "" where it names none."""
    return id_named(reads.machine(name), "machine", name) if name else ""


def _id_of(thing: Any) -> str:
    return str(thing.machine.id if isinstance(thing, MachineWithInterfaces) else thing.id)
