"""The panels of the report: the one list to which a new panel is added.

A panel ``NAME`` is a script, ``page/panels/NAME.js``, that adds one function to ``panels``. It
draws into a card of ``page/page.html``, from an entry of :meth:`ReportData.payload`
(``payload.py``). ``CONTRIBUTING.md`` shows the smallest one.
"""

#: The panels in the order in which they are drawn.
PANELS = ("about", "terms", "topics", "map", "readings", "structure", "samples", "convergence")
