"""HTML for notebooks: answers as tables, explanations in colours."""

from __future__ import annotations

from html import escape

import pyarrow as pa

_ROWS = 20
_COLOURS = {"holds": "#1a7f37", "fails": "#b42318", "unknown": "#9a6700"}


def table_html(table: pa.Table, caption: str) -> str:
    """Render the first rows of a table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    rows = table.slice(0, _ROWS).to_pylist()
    body = "".join("<tr>" + "".join(f"<td>{escape(str(v))}</td>" for v in row.values()) + "</tr>" for row in rows)
    more = f"<p>... and {table.num_rows - _ROWS:,} more rows</p>" if table.num_rows > _ROWS else ""
    return f"<p>{escape(caption)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def lines_html(text: str) -> str:
    """Render the lines of an explanation, coloured by their first word."""
    shown = []
    for line in text.split("\n"):
        colour = _COLOURS.get(line.strip().partition(" ")[0])
        shown.append(f'<span style="color:{colour}">{escape(line)}</span>' if colour else escape(line))
    return f"<pre>{chr(10).join(shown)}</pre>"
