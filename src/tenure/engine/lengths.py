"""How long blocks are, where nobody says."""

from tenure.model.addressing import Network

_BLOCK = {4: 28, 6: 124}
_RACK_BITS = {4: 5, 6: 16}


def block_length(network: Network, version: int, prefix_length: int) -> int:
    """Length of a host block: the network's, else /28 or /124; never shorter than the subnet's."""
    chosen = network.block_length_v4 if version == 4 else network.block_length_v6
    return max(prefix_length, _BLOCK[version] if chosen is None else chosen)


def rack_length(network: Network, version: int, prefix_length: int) -> int:
    """Length of a rack block: the network's, else what cuts the subnet into 32 (IPv6: 65,536) pieces.

    Never longer than a host block, never shorter than the subnet; where a subnet is
    small, a rack block is two host blocks.
    """
    block = block_length(network, version, prefix_length)
    chosen = network.rack_block_length_v4 if version == 4 else network.rack_block_length_v6
    if chosen is not None:
        return min(max(prefix_length, chosen), block)
    return max(prefix_length, min(block - 1, prefix_length + _RACK_BITS[version]))
