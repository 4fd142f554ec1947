"""A proxy before PostgreSQL that can lose the server's next answer, as a network does at the worst moment."""

import socket
import threading
from typing import Self
from urllib.parse import urlsplit


class CutProxy:
    """Forwards bytes both ways; after `lose_answers` the next answer is read, dropped, and the connection closed."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(f":{parts.port}/", f":{self._listener.getsockname()[1]}/")
        self._losing = threading.Event()
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        for end in self._sockets:
            end.close()

    def lose_answers(self) -> None:
        """From now on the server still hears, and is not heard."""
        self._losing.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            self._sockets += [client, server]
            threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65536):
                if answers and self._losing.is_set():
                    break
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
