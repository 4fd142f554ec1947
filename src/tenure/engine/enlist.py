"""Unknown clients that get a lease where machines enlist become new machines, so many a minute and no more."""

from tenure.engine.draft import Draft
from tenure.engine.space import Space
from tenure.model import events as e
from tenure.model.machines import Interface, Machine


def enlisted_name(mac: str) -> str:
    """What a machine is called that nobody has named: `machine-5254000a0b0c`."""
    return "machine-" + mac.replace(":", "")


def enlist(draft: Draft, space: Space, mac: str, host: str | None) -> Interface | None:
    """Make a new machine of an unknown client that is about to get a lease; its interface, which it boots from.

    None, and the client has its lease all the same: where the network does not enlist, where the MAC is known, and
    beyond `enlist_limit` a minute and subnet, so that a flood of made-up clients is no flood of machines.

    Args:
        space: The subnet that it was seen on.
        mac: One spelling.
        host: Location that it was seen at, or None.
    """
    network, now = draft.state.networks[space.subnet.network], draft.moment.now
    if not network.enlist or draft.facts.macs[mac] is not None:
        return None
    if not draft.state.enlisted.room(space.subnet.id, network.enlist_limit, now):
        return None
    draft.state.enlisted.note(space.subnet.id, now)
    machine = Machine(id=next(draft.moment.ids), name=enlisted_name(mac), location=host)
    if draft.facts.machine_names[machine.name] is not None:  # a machine whose MAC was replaced may have it still
        machine = Machine(id=machine.id, name=f"machine-{machine.id}", location=host)
    interface = Interface(id=next(draft.moment.ids), machine=machine.id, mac=mac, network=network.id, boot=True)
    draft.record(e.MachineEnlisted(machine=machine))
    draft.record(e.InterfaceCreated(interface=interface))
    return interface
