"""What time asks."""

from tenure.model.uses.asking import Asking


class Lapse(Asking, frozen=True, kw_only=True):
    """What time alone does to claims, at most `limit` changes of each kind; answers how many there were at most.

    Claims expire or are warned of, names follow, those that queue are served, depleted networks say so,
    networks are harvested, subnets renumbered.
    """

    limit: int = 256


class ExpireLeases(Asking, frozen=True, kw_only=True):
    """Close dynamic leases whose promise has ended; at most `limit` of them. Answers how many."""

    limit: int = 256


class Tend(Asking, frozen=True, kw_only=True):
    """What time alone does to placement: empty blocks are surrendered, hand-overs settle, budgets are looked at.

    At most `limit` changes; answers how many there were.
    """

    limit: int = 256
