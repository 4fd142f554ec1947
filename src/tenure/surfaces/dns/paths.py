"""Owner names below a zone's apex, in the order that answers "is anything beneath this name?".

A path is an owner's labels from the apex downwards, each with its length
in front: `a.b.<zone>` is `\\x01b\\x01a`, the apex itself is empty, and a name of
one label is simply its wire form. What lies beneath a name then begins with that name's path,
label by label, so that empty non-terminals need no entries of their own: a
PTR of IPv6 would bring up to fifteen of them.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator

_CHUNK = 512


def path_of(owner: bytes) -> bytes:
    """Return the path of `owner`, wire-form labels without the zone's part and without a root label.

    Its own inverse. The caller has checked that the labels' lengths add up.
    """
    if not owner or owner[0] + 1 == len(owner):
        return owner
    labels = []
    at = 0
    while at < len(owner):
        end = at + owner[at] + 1
        labels.append(owner[at:end])
        at = end
    labels.reverse()
    return b"".join(labels)


def label_ends(path: bytes) -> Iterator[int]:
    """Yield where each label of `path` ends, so how long the path of each name on the way from the apex is."""
    at = 0
    while at < len(path):
        at += path[at] + 1
        yield at


def is_deep(path: bytes) -> bool:
    """Tell whether `path` has more than one label, so that names lie between it and the apex."""
    return bool(path) and path[0] + 1 < len(path)


def _first(chunk: list[bytes]) -> bytes:
    return chunk[0]


class SortedPaths:
    """A sorted set of paths in chunks, so that an insertion moves a few kilobytes and never the whole.

    Cost: O(log n) to ask; to change, a microsecond or two at a million; 8 to 16 bytes a path besides the path itself.
    """

    __slots__ = ("_chunks",)

    def __init__(self, paths: Iterable[bytes] = ()) -> None:
        ordered = sorted(set(paths))
        self._chunks = [ordered[at : at + _CHUNK] for at in range(0, len(ordered), _CHUNK)]

    def add(self, path: bytes) -> None:
        """Put `path` in; nothing happens if it is there."""
        if not self._chunks:
            self._chunks.append([path])
            return
        at = self._chunk_of(path)
        chunk = self._chunks[at]
        if chunk[bisect_right(chunk, path) - 1] == path:
            return
        insort(chunk, path)
        if len(chunk) > 2 * _CHUNK:
            self._chunks[at : at + 1] = [chunk[:_CHUNK], chunk[_CHUNK:]]

    def discard(self, path: bytes) -> None:
        """Take `path` out; nothing happens if it is not there."""
        if not self._chunks:
            return
        at = self._chunk_of(path)
        chunk = self._chunks[at]
        place = bisect_right(chunk, path) - 1
        if place >= 0 and chunk[place] == path:
            del chunk[place]
        if not chunk:
            del self._chunks[at]

    def beneath(self, path: bytes) -> bool:
        """Tell whether a longer path begins with `path`."""
        if not self._chunks:
            return False
        at = self._chunk_of(path)
        chunk = self._chunks[at]
        place = bisect_right(chunk, path)
        if place < len(chunk):
            return chunk[place].startswith(path)
        return at + 1 < len(self._chunks) and self._chunks[at + 1][0].startswith(path)

    def _chunk_of(self, path: bytes) -> int:
        return max(bisect_right(self._chunks, path, key=_first) - 1, 0)
