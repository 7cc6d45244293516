"""One self-contained HTML page about a run.

    result = stax.load("runs/first")
    write_report(result, "runs/first", "report.html")

`page` puts the parts together with `page.html`, `page.css` and `page.js`; `facts`, `archives`, `course`, `films`, `learned` and
`emitters` make a part each.

- The page is one file that loads nothing: Plotly's JavaScript, pictures and films are in it. A content security policy allows
  our two scripts by their digests and no request at all, so a name in a stranger's folder could do no harm even if escaping
  failed. Jinja escapes everything, and what Plotly would read as formatting is escaped once more.
- Plotly is given the list of the buttons it may show. Its own list has one that sends the plot to its makers.
- Figures are plain dictionaries, which Plotly's JavaScript draws; the tests check every name in them with its Python package.
- Plots are SVG instead of WebGL, which prints sharply and needs no graphics card. At most 6,000 policies of an archive are
  therefore drawn.
- The style sheet colours the text of plots, so that light, dark and paper look right without drawing them again.
"""

from __future__ import annotations

from stax.extras import require_extra

require_extra("report", "A report")

from stax.analysis.report.page import Written, check_page, write_report  # noqa: E402

__all__ = ["Written", "check_page", "write_report"]
