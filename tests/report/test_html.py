"""A report is one page that opens without a network, and in which data is never code."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

from unalike.report import client_distribution, traffic, write_report
from unalike.report.fairness_plots import frontier_plot

EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)> & $x_"
VOID = {"meta", "img", "br", "link"}


class Reader(HTMLParser):
    """Collects tags and checks that they are nested."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert not reader.open
    return reader


def figures():
    rounds = np.arange(30)
    return {
        "Clients": client_distribution(np.random.default_rng(0).random(200), None, "test_accuracy"),
        "Traffic": traffic({"round": rounds, "bytes_up": rounds + 1.0, "bytes_down": rounds + 2.0}),
    }


def evil_figure():
    figure = Figure()
    figure.subplots().set_title(EVIL.replace("$", ""))
    return figure


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_report(
        tmp_path_factory.mktemp("report") / "report.html",
        title=EVIL,
        subtitle=EVIL,
        summary={"Accuracy": "81 %", EVIL: 0.123456, "note": EVIL},
        figures={**figures(), EVIL: evil_figure()},
        captions={"Clients": EVIL},
        config={"seed": 1, EVIL: EVIL, "data": {"names": [EVIL]}},
        events=[{"round": 1, "kind": EVIL, "client": EVIL, EVIL: 3.5}],
        tables={EVIL: [{EVIL: EVIL, "x": 1}, {"y": None}]},
    )


def test_data_is_never_code(page):
    reader = read(page)
    assert not {"script", "iframe", "object", "link", "base", "form"} & set(reader.tags)
    assert not [entry for entry in reader.attributes if entry[1].startswith("on")]
    assert "img" not in reader.tags
    assert sum("<script>alert('x')</script>" in text for text in reader.text) >= 10  # it is there, as words


def test_nothing_is_asked_of_the_network(page):
    text = page.read_text()
    assert not re.search(r"https?:|//\w+\.|@import|url\((?!#)", text)
    for _, name, value in read(page).attributes:
        assert name not in ("src", "href", "xlink:href") or value.startswith(("#", "data:"))
    assert "default-src 'none'" in text


def test_figures_follow_the_page_into_the_dark(page):
    drawn = page.read_text().split("</style>", 1)[1]
    assert "prefers-color-scheme: dark" in page.read_text()
    assert "var(--c0)" in drawn
    assert "#0072b2" not in drawn


def test_inner_names_do_not_clash(page):
    names = [value for _, name, value in read(page).attributes if name == "id"]
    assert len(names) == len(set(names))
    assert set(re.findall(r'(?:href="|url\()#([\w-]+)', page.read_text())) <= set(names)


def test_figures_have_words_for_those_who_cannot_see_them(page):
    labels = [value for tag, name, value in read(page).attributes if (tag, name) == ("svg", "aria-label")]
    assert labels == ["Clients", "Traffic", EVIL]


def test_it_is_small(page):
    assert page.stat().st_size < 300_000


def test_equal_reports_are_equal_bytes(tmp_path):
    empty = {"summary": {}, "config": {}, "events": []}
    paths = [write_report(tmp_path / name, title="t", figures=figures(), **empty) for name in ("a", "b")]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_drawing_with_too_many_strokes_becomes_a_picture(tmp_path):
    figure = Figure()
    figure.subplots().scatter(*np.random.default_rng(0).random((2, 5000)), c=np.arange(5000))
    path = write_report(
        tmp_path / "r.html", title="t", summary={}, figures={"dots": figure}, config={}, events=[]
    )
    assert "img" in read(path).tags
    assert path.stat().st_size < 1_000_000


def test_many_events_are_counted_and_the_first_are_shown(tmp_path):
    events = [{"round": i, "kind": "late"} for i in range(1000)]
    path = write_report(tmp_path / "r.html", title="t", summary={}, figures={}, config={}, events=events)
    text = path.read_text()
    assert "1,000 × late" in text
    assert "800 more are in the record" in text
    assert text.count("<tr>") == 201


def test_numbers_stand_on_the_right(tmp_path):
    rows = [{"name": "a", "score": "64.3 %", "count": 3}, {"name": "b", "score": "7.0 %", "count": None}]
    path = write_report(
        tmp_path / "r", title="t", summary={}, figures={}, config={}, events=[], tables={"T": rows}
    )
    assert path.read_text().count('class="number"') == 6


def test_figures_are_moved_sideways_before_their_words_are_too_small(page):
    text = page.read_text()
    widths = [int(width) for width in re.findall(r'min-width: (\d+)px"', text)]
    assert widths
    assert min(widths) > 200
    assert ".figure { overflow-x: auto; }" in text


def test_a_narrow_page_shows_figures_whole_and_names_their_lines_below(page):
    """On a phone, words at the end of lines would be out of sight, or too small to read."""
    text = page.read_text()
    narrow = re.search(r"@media \(max-width: 560px\) \{(.*?)\n\}", text, re.DOTALL)[1]
    assert ".figure > * { min-width: 0 !important; }" in narrow
    assert ".legend { display: block; }" in narrow
    assert ".legend { display: none;" in text
    legends = re.findall(r'<div class="legend">(.*?)</div>', text, re.DOTALL)
    traffic_words = next(words for words in legends if "Bytes sent so far" in words)
    assert re.findall(r'<span style="color: (.*?)">([a-z ]+)\n', traffic_words) == [
        ("var(--c0)", "to clients"),
        ("var(--c1)", "from clients"),
    ]


def test_the_legend_of_a_figure_is_named_below_too(tmp_path):
    drawn = frontier_plot({"fedavg": [(0.1, 0.8)], EVIL: [(0.2, 0.9)]})
    path = write_report(tmp_path / "r", title="t", summary={}, figures={"F": drawn}, config={}, events=[])
    below = path.read_text().partition('<div class="legend">')[2]
    assert '<span style="color: var(--c0)">fedavg</span>' in below
    assert "<script>" not in below
