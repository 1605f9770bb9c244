"""What ``model.explore`` returns: the served page, and the model that is edited there."""

import threading
from importlib import import_module
from typing import Any, Self

from isotopic.serve.server import PageServer
from isotopic.serve.session import Session

# Height of the frame in a notebook.
_HEIGHT = 900


class Explorer:
    """A page on which a fitted model is edited, served until :meth:`close` or the program's end.

    A notebook shows the page in a frame. Elsewhere, open ``url`` in a browser.

    Parameters
    ----------
    session : Session
    port : int, default=0
        0: any that is free.

    Attributes
    ----------
    url : str
        The address of the page. Who has it can edit the model.
    model : fitted estimator
        The model as it is now; the one that was given is never changed.

    Examples
    --------
    >>> from isotopic import NMF, datasets
    >>> corpus = datasets.load_kjv()
    >>> model = NMF(5, max_iter=20, tol=0, random_state=0).fit(corpus.data)
    >>> with model.explore(corpus.data, feature_names=corpus.feature_names) as explorer:
    ...     edited = explorer.model  # what was done on the page until now
    >>> edited is model
    True
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        self._session = session
        self._server = PageServer(session, port, in_frames=True)
        self.url = self._server.url
        self._thread: threading.Thread | None = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), daemon=True
        )
        self._thread.start()

    @property
    def model(self) -> Any:
        """The model as it is now."""
        return self._session.current.model

    def close(self) -> None:
        """Stop serving the page; ``model`` stays."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Explorer of {type(self.model).__name__}: {self.url}>"

    def _ipython_display_(self) -> None:
        show: Any = import_module("IPython.display")  # only in notebooks
        show.display(show.IFrame(self.url, "100%", _HEIGHT))
