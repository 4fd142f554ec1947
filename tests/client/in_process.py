"""A transport to the API in the test's own process, so that nothing of the client or the service is made up."""

from tenure.client import AnswerLost, Client, Request, Response
from tests.surfaces.api.site import SECRET, Site


class InProcess:
    """Carries requests to a `Site`.

    Attributes:
        sent: What was sent, in order.
        lose: How many answers are still to be lost on their way back.
    """

    def __init__(self, site: Site, token: str = SECRET) -> None:
        self._site = site
        self._http = site.client_with(token)
        self.sent: list[Request] = []
        self.lose = 0

    def send(self, request: Request) -> Response:
        """Ask the application."""
        self.sent.append(request)
        answer = self._site.ask(
            request.method, request.path, client=self._http, content=request.body, headers=dict(request.headers)
        )
        if self.lose:
            self.lose -= 1
            raise AnswerLost("The connection ended.")
        return Response(answer.status_code, dict(answer.headers), answer.content)

    def close(self) -> None:
        """Let go of the client below."""
        self._site.runner.run(self._http.aclose())


def client_of(site: Site) -> Client:
    """A client of a site; it does not wait between attempts."""
    return Client(InProcess(site), pause=lambda seconds: None)
