"""How few routes there can be: a lower bound that holds for every policy.

Let next hop h hold n(h) > 0 addresses in a subnet of C addresses, and let a
table of R routes deliver each to its holder by longest match. Each next hop has
a route, so R >= H, the number of next hops. Take any power of two q <= C, call
routes for q addresses or more big, the others small, and the routes that h has
beyond one its extra ones, x(h); R = H + the sum of x(h).

A big route without the big routes inside it covers a multiple of q addresses;
these remainders are disjoint, so that together they cover at most C. What h
holds lies in the remainders of its big routes, or in its small routes, each of
which has at most q/2 addresses. Say that n(h) > q/2.

- If h has a big route, it has at most x(h) small ones, so its remainders cover at
  least n(h) - x(h) * q/2; being multiples of q, at least ceil(n(h)/q) - x(h) times q.
- If it has none, 1 + x(h) small ones hold all, so x(h) >= 1 and
  ceil(n(h)/q) <= ceil((1 + x(h)) / 2) <= x(h): the same is true, of nothing.

Summed up,

    the sum of (ceil(n(h)/q) - x(h)) over h with n(h) > q/2  <=  C/q, therefore
    R  >=  H + the sum of ceil(n(h)/q) over h with n(h) > q/2  -  C/q.

The bound is the best over q. It allows nested routes, routes that cover what
nobody holds, and addresses that move at will, so a policy that cannot move them
meets it seldom: it is what no one can beat, not what somebody has reached.
"""

from collections.abc import Iterable


def fewest_routes(held: Iterable[int], addresses: int) -> int:
    """The fewest routes with which any policy can deliver.

    Args:
        held: Addresses that each next hop holds; those with none do not count.
        addresses: Addresses in the subnet, a power of two; all of them may be used.

    Returns:
        The bound: at least the number of next hops that hold something.

    Cost: next hops times the logarithm of the largest number.
    """
    counts = [count for count in held if count > 0]
    least, size = 0, 1
    while counts and size <= addresses and size < 2 * max(counts):
        wanted = sum(-(-count // size) for count in counts if 2 * count > size)
        least = max(least, wanted - addresses // size)
        size *= 2
    return len(counts) + least
