"""LaTeX tables as HTML: what the renderers write, and nothing else."""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from thinkprior.rendering import latex
from thinkprior.report.tables import MACROS, UnknownMacroError, html_table, inline

RENDERING = Path(latex.__file__).parent
# Around cells: read by the rows, not within them.
OF_ROWS = {"midrule", "cmidrule", "rowcolor", "multicolumn"}
# Of the environment that `Tabular` writes.
OF_ENVIRONMENT = {
    *("usepackage", "begin", "end", "centering", "small", "setlength", "tabcolsep", "resizebox"),
    *("ifdim", "width", "linewidth", "else", "fi", "toprule", "bottomrule", "par", "smallskip"),
    *("parbox", "caption", "label", "\\"),
}


def plain(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("ThinkPrior (ours)", "ThinkPrior (ours)"),
        (r"95\% CI", "95% CI"),
        (r"steps 1--10", "steps 1–10"),
        (r"over 400\,000 resamples", "over 400\u2009000 resamples"),
        (r"\quad seed range", "\u2003seed range"),
        (r"silent@10 $\downarrow$", "silent@10 ↓"),
        ("Cohen's $d$", "Cohen&#39;s <i>d</i>"),
        (r"$\sim$126", "~126"),
        (r"$-\infty$", "−∞"),
        (r"$\hat{\varphi}=0$", "φ\u0302\u2009=\u20090"),
        (r"$U_{\beta} \leq 1$", "<i>U</i><sub>β</sub>\u2009≤\u20091"),
        (r"\textit{No selection}", "<em>No selection</em>"),
    ],
)
def test_text_and_formulas(source: str, expected: str) -> None:
    assert inline(source) == expected


# What the helpers of `latex` write for the numbers of the paper's Table 2 and of our Table 1.
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (latex.mathematics("-13.1"), "−13.1"),
        (r"$[-16.4, -9.9]$", "[−16.4, −9.9]"),
        (r"$0.106\pm0.031$", "0.106\u2009±\u20090.031"),
        (latex.bold("$-13.1$ pts"), "<strong>−13.1 pts</strong>"),
        (latex.p_value(0.00001), "&lt;10<sup>−4</sup>"),
        (latex.p_value(0.007), "0.007"),
        (latex.change_subscript(-15.83, 1), '<sub><span class="better">-15.8</span></sub>'),
        (latex.change_subscript(592.0, 0), '<sub><span class="worse">+592</span></sub>'),
        (latex.change_subscript(0.0, 1), "<sub>0.0</sub>"),
    ],
)
def test_numbers_of_the_renderers(source: str, expected: str) -> None:
    # In a subscript a hyphen is a minus sign too.
    assert inline(source) == expected.replace(">-", ">−")


SPECIALS = "\\{}$&#%_~^<>|\"[]*×±−–—αβκφΔ≤≥'`@/é\n\x07"


@given(st.text(st.one_of(st.sampled_from(SPECIALS), st.characters())))
def test_escaped_text_comes_back(text: str) -> None:
    # Side by side, dashes and quotation marks run together in LaTeX itself.
    assume(not re.search("[-–—]{2}|['\"]{2}", text))
    assume("[U+" not in text)
    printed = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    markup = inline(latex.escape(text))
    assert not re.search("[<>]", re.sub("</?(i|sub|sup)>", "", markup))
    # A character that LaTeX has no glyph for stands as its number.
    shown = re.sub(r"\[U\+([0-9A-F]{4,6})\]", lambda found: chr(int(found[1], 16)), plain(markup))
    assert shown == printed


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (r"\href{javascript:x}{y}", r"\href"),
        (r"\textcolor[HTML]{123456}{x}", "123456"),
        (r"\textbf{x", "never closed"),
        ("$x", "never closed"),
        ("a & b", "bare &"),
        ("x_1", "bare _"),
        ("50%", "bare %"),
        ("a}", "bare }"),
        ("\\", "backslash at the end"),
        (r"\textbf x", "no argument"),
    ],
)
def test_what_the_renderers_do_not_write_is_an_error(source: str, named: str) -> None:
    with pytest.raises(UnknownMacroError, match=re.escape(named)):
        inline(source)


def table(body: list[str], columns: str = "lrr") -> str:
    head = [
        latex.row(["", latex.spanning(2, "c", r"Economy $\downarrow$")]),
        r"\cmidrule(lr){2-3}",
        latex.row(["Method", "silent@10", "$n$"]),
    ]
    return latex.Tabular(
        columns, head, body, "By hand: 95\\% of it.", "tab:x", notes=["First.", "Second."]
    ).environment()


def test_a_whole_table() -> None:
    ours = latex.row(["ours & theirs".replace("&", r"\&"), "0.1", "3"], latex.OURS)
    group = latex.row([latex.spanning(3, "l", r"\textit{Block}")])
    found = html_table(table([group, ours, r"\midrule", latex.row(["other", latex.DASH, "2"])]))
    assert str(found.table) == (
        "<table>\n<thead>\n"
        '<tr><td></td><th scope="colgroup" class="centre" colspan="2">Economy ↓</th></tr>\n'
        '<tr><th scope="col" class="left">Method</th><th scope="col" class="right">silent@10</th>'
        '<th scope="col" class="right"><i>n</i></th></tr>\n'
        "</thead>\n<tbody>\n"
        '<tr><th scope="rowgroup" class="left" colspan="3"><em>Block</em></th></tr>\n'
        '<tr class="ours"><th scope="row" class="left">ours &amp; theirs</th>'
        '<td class="right">0.1</td><td class="right">3</td></tr>\n'
        '<tr class="rule"><th scope="row" class="left">other</th>'
        '<td class="right">–</td><td class="right">2</td></tr>\n'
        "</tbody>\n</table>"
    )
    assert found.caption == "By hand: 95% of it."
    assert found.notes == "First. Second."


@pytest.mark.parametrize(
    "source",
    [
        "no table",
        table([latex.row(["a", "b", "c", "d"])]),
        table([r"\hline"]),
        table([latex.row(["a", "b", "c"], "ABCDEF")]),
        table([latex.row(["a", "b", "c"])], columns="l|rr"),
    ],
)
def test_another_table_is_an_error(source: str) -> None:
    with pytest.raises(UnknownMacroError):
        html_table(source)


def test_every_macro_of_the_renderers_has_an_html_form() -> None:
    unknown = {
        f"{path.name}: \\{name}"
        for path in RENDERING.glob("*.py")
        for name in macros(path)
        if name not in MACROS | OF_ROWS | (OF_ENVIRONMENT if path.name == "latex.py" else set())
    }
    assert not unknown, "thinkprior/report/tables.py must learn them"


def macros(path: Path) -> set[str]:
    """Macros in the strings of a module, those of its docstrings and regular text left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if path.name != "latex.py" and not imports_latex(tree):
        return set()
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
        for name in re.findall(r"\\([A-Za-z]+|[^A-Za-z\s])", node.value)
    }


def imports_latex(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and any(alias.name == "latex" for alias in node.names)
        for node in ast.walk(tree)
    )
