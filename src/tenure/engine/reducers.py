"""What each event makes of the state: one small function an event, and how it is taken back."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tenure.engine.holding_reducers import HELD
from tenure.engine.space import Space
from tenure.engine.strangers import resettle
from tenure.engine.zone_reducers import ZONED, serve
from tenure.model import events as e
from tenure.model.addressing import Range, Subnet
from tenure.model.placement import Block
from tenure.net.addresses import first_and_length, parse_prefix

if TYPE_CHECKING:
    from tenure.engine.state import State
    from tenure.engine.strays import Rest

Undo = Callable[[], object]

_CALLING = ("network", "zone")
"""What may have a name template, beside subnets."""


def _put(kind: str) -> "Callable[[State, Any], Undo]":
    """Reducer of `<Kind>Created` and `<Kind>Changed` of a thing that only has to be known."""

    def reduce(state: "State", event: Any) -> Undo:
        new = getattr(event, kind)
        things = getattr(state, kind + "s")
        old = things.get(new.id)
        _name(state, kind, old, new)
        things[new.id] = new
        return lambda: _put_back(state, kind, old, new)

    return reduce


def _put_back(state: "State", kind: str, old: Any, new: Any) -> None:
    things = getattr(state, kind + "s")
    _name(state, kind, new, old)
    if old is None:
        del things[new.id]
    else:
        things[old.id] = old


def _drop(kind: str) -> "Callable[[State, Any], Undo]":
    def reduce(state: "State", event: Any) -> Undo:
        old = getattr(state, kind + "s").pop(getattr(event, kind).id)
        _name(state, kind, old, None)
        return lambda: _put_back(state, kind, old, None)

    return reduce


def _name(state: "State", kind: str, old: Any, new: Any) -> None:
    if old is not None:
        state.names.pop(_name_key(kind, old), None)
    if new is not None:
        state.names[_name_key(kind, new)] = new.id
    if kind == "zone":
        serve(state, old, new)
    if kind in _CALLING:
        for thing, step in ((old, -1), (new, 1)):
            if thing is not None and thing.name_template is not None:
                state.templates[thing.vrf] += step


def _name_key(kind: str, thing: Any) -> tuple[str, str]:
    """Names are unique in their kind; a zone's only in its vrf."""
    return (kind + thing.vrf, thing.name) if kind == "zone" else (kind, thing.name)


def _location_put(state: "State", event: e.LocationCreated | e.LocationChanged) -> Undo:
    new = event.location
    old = state.locations.get(new.id)
    moved = old is not None and old.parent != new.parent
    if old is not None:
        state.drop_location(old)
    state.put_location(new)
    if moved:
        state.spines.forget_all()

    def undo() -> None:
        state.drop_location(new)
        if old is not None:
            state.put_location(old)
        if moved:
            state.spines.forget_all()

    return undo


def _location_dropped(state: "State", event: e.LocationDeleted) -> Undo:
    old = state.locations[event.location.id]
    state.drop_location(old)
    return lambda: state.put_location(old)


def _zone_created(state: "State", event: e.ZoneCreated) -> Undo:
    undo = _put("zone")(state, event)
    state.reverse_zones.put(event.zone)

    def back() -> None:
        state.reverse_zones.drop(event.zone)
        undo()

    return back


def _zone_deleted(state: "State", event: e.ZoneDeleted) -> Undo:
    undo = _drop("zone")(state, event)
    state.reverse_zones.drop(event.zone)

    def back() -> None:
        undo()
        state.reverse_zones.put(event.zone)

    return back


def _network_put(state: "State", event: Any) -> Undo:
    return _budgeted(state, event.network.id, _put("network")(state, event))


def _network_dropped(state: "State", event: e.NetworkDeleted) -> Undo:
    return _budgeted(state, event.network.id, _drop("network")(state, event))


def _budgeted(state: "State", network: str, undo: Undo) -> Undo:
    """What a network is now, and after `undo` again, is noted where budgets are."""
    state.spines.note(network, state.networks.get(network))

    def back() -> None:
        undo()
        state.spines.note(network, state.networks.get(network))

    return back


def _network_changed(state: "State", event: e.NetworkChanged) -> Undo:
    undo = _network_put(state, event)
    _retune(state, event.network.id)

    def back() -> None:
        undo()
        _retune(state, event.network.id)

    return back


def _retune(state: "State", network: str) -> None:
    """Blocks of the new lengths from now on; those that are owned stay as they are."""
    for space in state.spaces(network):
        space.forget_gaps()
        lengths = state.lengths_of(network, space.version, space.prefix_length)
        if lengths != (space.block_length, space.rack_length):
            space.block_length, space.rack_length = lengths
            space.reshape()


def _subnet_created(state: "State", event: e.SubnetCreated) -> Undo:
    space = state.new_space(event.subnet)
    _add(state, space)
    gathered = _gather(state, space)
    unsettle = resettle(state, space)

    def undo() -> None:
        unsettle()
        _scatter_again(state, space, gathered)
        _remove(state, space)

    return undo


def _subnet_dropped(state: "State", event: e.SubnetDeleted) -> Undo:
    space = state.subnets[event.subnet.id]
    _remove(state, space)
    scattered = [_send_on(state, space, number, until) for number, until in space.resting.items()]
    unsettle = resettle(state, space)

    def undo() -> None:
        unsettle()
        for take_back in scattered:
            take_back()
        _add(state, space)

    return undo


def _send_on(state: "State", space: Space, number: int, until: datetime) -> Undo:
    """A rest of a subnet that is gone goes on in the one around it, or in none."""
    home = state.space_at(space.subnet.vrf, space.version, number)
    if home is None:
        state.strays.put(space.subnet.vrf, space.version, number, until)
        return lambda: state.strays.drop(space.subnet.vrf, space.version, number)
    before = home.resting.get(number)  # from before the subnet was cut out: over, but nobody may have said so yet
    home.rested(number, until)

    def undo() -> None:
        home.unrest(number)
        if before is not None:
            home.rest(number, before)

    return undo


def _gather(state: "State", space: Space) -> "list[Rest]":
    """A subnet takes the rests that lie in it."""
    gathered = state.strays.inside(space)
    for number, until in gathered:
        state.strays.drop(space.subnet.vrf, space.version, number)
        space.rest(number, until)
    return gathered


def _scatter_again(state: "State", space: Space, gathered: "list[Rest]") -> None:
    for number, until in gathered:
        space.unrest(number)
        state.strays.put(space.subnet.vrf, space.version, number, until)


def _add(state: "State", space: Space) -> None:
    state.put_space(space)
    state.nest(space)
    space.reshape()
    state.renest(space)


def _remove(state: "State", space: Space) -> None:
    state.drop_space(space)
    state.renest(space)


def _subnet_changed(state: "State", event: e.SubnetChanged) -> Undo:
    """A resized subnet has another memory, that shares what is remembered; the first comes back if it is undone."""
    space, old, new = state.subnets[event.subnet.id], state.subnets[event.subnet.id].subnet, event.subnet
    if new.cidr == old.cidr:
        _swap(state, space, space, new)
        return lambda: _swap(state, space, space, old)
    over = _end_rests_outside(space, new)
    resized = state.new_space(new, space.order)
    resized.adopt(space)
    _swap(state, space, resized, new)
    gathered = _gather(state, resized)
    unsettle = resettle(state, resized)

    def undo() -> None:
        unsettle()
        _scatter_again(state, resized, gathered)
        _swap(state, resized, space, old)
        for number, until in over:
            space.rest(number, until)

    return undo


def _end_rests_outside(space: Space, after: Subnet) -> "list[Rest]":
    """Rests outside of what a subnet becomes were over when that was decided, though nobody may have said so yet."""
    prefix = parse_prefix(after.cidr)
    first, last = int(prefix[0]), int(prefix[-1])
    over = [(number, until) for number, until in space.resting.items() if not first <= number <= last]
    for number, _ in over:
        space.unrest(number)
    return over


def _swap(state: "State", before: Space, after: Space, subnet: Subnet) -> None:
    state.drop_space(before)
    if after is not before:
        state.renest(before)
    after.subnet = subnet
    state.put_space(after)
    state.nest(after)
    after.reshape()
    if after is not before:
        state.renest(after)


def _range_put(state: "State", event: e.RangeCreated | e.RangeChanged) -> Undo:
    new = event.range
    old = state.ranges.get(new.id)
    _set_range(state, new.id, new)
    return lambda: _set_range(state, new.id, old)


def _range_dropped(state: "State", event: e.RangeDeleted) -> Undo:
    old = state.ranges[event.range.id]
    _set_range(state, old.id, None)
    return lambda: _set_range(state, old.id, old)


def _set_range(state: "State", id_: str, value: Range | None) -> None:
    subnet = (value or state.ranges[id_]).subnet
    space = state.subnets[subnet]
    for ranges in (state.ranges, space.ranges):
        if value is None:
            del ranges[id_]
        else:
            ranges[id_] = value
    space.reshape()


def _block_owned(state: "State", event: e.BlockOwned) -> Undo:
    block = event.block
    _own(state, block)
    return lambda: _lose(state, block)


def _block_surrendered(state: "State", event: e.BlockSurrendered) -> Undo:
    block = event.block
    _lose(state, block)
    return lambda: _own(state, block)


def _block_resized(state: "State", event: e.BlockResized) -> Undo:
    before, after = event.before, event.block
    _resize(state, before, after)
    return lambda: _resize(state, after, before)


def _own(state: "State", block: Block) -> None:
    space = state.subnets[block.subnet]
    if block.kind == "host":
        space.own_block(*_piece(block), block.owner)
    else:
        space.own_region(*_piece(block), block.owner, block.kind)


def _lose(state: "State", block: Block) -> None:
    space = state.subnets[block.subnet]
    if block.kind == "host":
        space.lose_block(*_piece(block))
    else:
        space.lose_region(*_piece(block), block.kind)


def _resize(state: "State", before: Block, after: Block) -> None:
    space = state.subnets[after.subnet]
    if after.kind == "host":
        space.resize_block(_piece(before), _piece(after))
    else:
        space.resize_region(_piece(before), _piece(after), after.kind)


def _piece(block: Block) -> tuple[int, int]:
    return first_and_length(block.cidr)


def _nothing(state: "State", event: e.Event) -> Undo:
    return lambda: None


REDUCERS: dict[type, "Callable[[State, Any], Undo]"] = {
    e.VrfCreated: _put("vrf"),
    e.VrfChanged: _put("vrf"),
    e.VrfDeleted: _drop("vrf"),
    e.LocationCreated: _location_put,
    e.LocationChanged: _location_put,
    e.LocationDeleted: _location_dropped,
    e.NetworkCreated: _network_put,
    e.NetworkChanged: _network_changed,
    e.NetworkDeleted: _network_dropped,
    e.NetworkBudgetCrossed: _network_put,
    e.NetworkDepleted: _network_put,
    e.NetworkReplenished: _network_put,
    e.SubnetCreated: _subnet_created,
    e.SubnetChanged: _subnet_changed,
    e.SubnetDeleted: _subnet_dropped,
    e.RangeCreated: _range_put,
    e.RangeChanged: _range_put,
    e.RangeDeleted: _range_dropped,
    e.MachineCreated: _nothing,
    e.MachineChanged: _nothing,
    e.MachineDeleted: _nothing,
    e.MachineEnlisted: _nothing,
    e.MachineCommissioned: _nothing,
    e.MachineReadied: _nothing,
    e.MachineDeployed: _nothing,
    e.MachineReleased: _nothing,
    e.MachineRetired: _nothing,
    e.MachineSeen: _nothing,
    e.InterfaceCreated: _nothing,
    e.InterfaceChanged: _nothing,
    e.InterfaceDeleted: _nothing,
    e.ZoneCreated: _zone_created,
    e.ZoneReshaped: _put("zone"),
    e.ZoneDeleted: _zone_deleted,
    e.BlockOwned: _block_owned,
    e.BlockSurrendered: _block_surrendered,
    e.BlockResized: _block_resized,
    **HELD,
    **ZONED,
    e.TokenCreated: _nothing,
    e.TokenRevoked: _nothing,
    e.EpochStarted: _nothing,
}
