"""The HTML report in a real browser: its numbers, its tips, hostile text, without scripts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from pytest_ctxguard.report.figures import Break
from pytest_ctxguard.report.html import render_html
from pytest_ctxguard.report.html.measured import by_transcript
from pytest_ctxguard.report.run import Run
from tests.report import runs
from tests.report.html.whole_run import calls, cells, facts, whole_run

HOSTILE = (
    "</svg></script><script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
    '"\' onclick="window.pwned=3" <a href="javascript:window.pwned=4">x</a> {{ 7*7 }} '
    "\u202egnp.\u2066 \x00\x1b[31m \ud800 &amp; שלום"
)
SPELLED = re.compile(r"\\x00.{0,4}\\x1b\[31m.{0,4}\\ud800 &amp;")
LABELS = "svg [role=graphics-symbol], svg a"


@pytest.fixture(scope="module")
def run():
    return whole_run()


@pytest.fixture(scope="module")
def html(run):
    return render_html(run)


def chart(page, title, *, place=0, within="main"):
    return (
        page.locator(f"{within} figure")
        .filter(has=page.locator(f"h4:text-is('{title}')"))
        .nth(place)
    )


def labels(figure):
    return figure.locator(LABELS).evaluate_all("found => found.map(e => e.ariaLabel)")


def rows(figure):
    return figure.locator("table").evaluate(
        "table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))"
    )


def boxes(figure):
    return figure.locator(LABELS).evaluate_all(
        "found => found.map(e => { const b = e.getBoundingClientRect();"
        " return {label: e.ariaLabel, x: b.x, y: b.y, width: b.width, height: b.height} })"
    )


def test_the_verdict_stands_first_and_every_finding_has_its_five_parts(opened, html, run):
    page = opened(html)
    assert page.locator("h1").inner_text() == "Context gate: ! error"
    assert page.locator("main h2").first.inner_text() == "What is wrong"
    told = page.locator("#findings .finding").all()
    assert len(told) == len(run.findings) + sum(len(test.findings) for test in run.tests)
    for finding in told:
        assert finding.locator("dt").all_inner_texts() == [
            "where",
            "measured",
            "allowed",
            "why",
            "what to do",
        ]
    assert "pytest --ctxguard test_policies.py::test_1" in page.locator("#findings").inner_text()


def test_buckets_by_call_have_the_numbers_of_the_run_in_label_height_and_table(opened, html, run):
    page = opened(html)
    row = next(r for group in by_transcript(run) for r in group if r.name == "full_history")
    place = page.locator("#calls h3").all_inner_texts().index(row.title)
    figure = chart(page, "Buckets by call", place=place)
    expected = [
        f"call {c.call}, turn {c.turn}: {name}, {tokens:,} of {c.tokens:,} tokens"
        for c in row.figures.by_call
        for name, tokens in (
            ("system", c.system),
            ("tools", c.tools),
            ("tool results", c.tool_results),
            ("conversation", c.conversation),
        )
        if tokens
    ]
    assert labels(figure) == expected
    scales = []
    for box in boxes(figure):
        tokens = int(re.search(r", ([\d,]+) of", box["label"]).group(1).replace(",", ""))
        if tokens > 1_000:
            scales.append(box["height"] / tokens)
    assert min(scales) == pytest.approx(max(scales), rel=0.05)
    figure.locator("summary").click()
    [head, *body] = rows(figure)
    assert head == ["call", "turn", "system", "tools", "tool results", "conversation", "all"]
    assert body[-1] == ["19", "10", "85", "1,817", "2,660", "1,180", "5,742"]
    assert len(body) == len(row.figures.by_call)


def test_the_prefix_strip_shows_each_call_and_leads_to_what_differs(opened, html, run):
    page = opened(html)
    [row] = [r for group in by_transcript(run) for r in group if r.name.startswith("UserM")]
    place = page.locator("#calls h3").all_inner_texts().index(row.title)
    figure = chart(page, "Prefix by call", place=place)
    broken = [c for c in row.figures.by_call if c.broken is not None]
    links = figure.locator("svg a")
    assert links.count() == len(broken) == 3
    kinds = Counter(
        re.search(r": ([a-z ]+), [\d,]+ of", each).group(1)
        for each in labels(figure)
        if " of " in each
    )
    assert kinds == {"reused": 19, "new": 17, "new after a break": 3}
    body = rows(figure)[1 + broken[0].call]
    assert body == ["5", "3", "diverged", "1,902", "1,040", "2,942"]
    links.nth(1).click()
    told = figure.locator(":target")
    assert told.inner_text().startswith(
        "Call 10, diverged: message 3 (tool), character 17 (tool result cleared)"
    )
    assert '{"shard": "pay-shard-7", "lag": 4417}' in told.inner_text()


def test_recall_by_depth_has_points_and_bands_where_the_numbers_are(opened, html, run):
    page = opened(html)
    figure = chart(page, "Recall by depth")
    [test] = [test for test in run.tests if test.nodeid.endswith("test_depth")]
    told = test.subjects[0].recall.cells
    assert labels(figure) == [
        f"{c.title}: {c.hits} of {c.of} answered, {c.low:.0%} to {c.high:.0%}" for c in told
    ]
    points = boxes(figure)
    bottom = points[0]["y"] + (points[1]["y"] - points[0]["y"]) / (27 - 9) * 27
    for point, cell in zip(points, told, strict=True):
        assert point["y"] == pytest.approx(
            bottom - (bottom - points[0]["y"]) * cell.hits / 27, abs=1
        )
    assert figure.locator("svg [fill='var(--band)']").count() == 1
    assert [row[1] for row in rows(figure)[1:]] == [f"{c.hits} of 32" for c in told]


def test_a_grid_of_lengths_and_depths_has_a_panel_for_each_length(opened, html):
    figure = chart(opened(html), "Recall by depth", place=1)
    texts = figure.locator("svg text").all_text_contents()
    assert [text for text in texts if "records" in text] == ["25 records", "140 records"]
    assert len(labels(figure)) == 10


def test_outcome_bars_are_as_wide_as_their_counts(opened, html):
    page = opened(html)
    figure = chart(page, "Outcomes by fact and policy")
    parts = boxes(figure)
    assert sum(int(re.search(r", (\d+) of 6$", part["label"]).group(1)) for part in parts) == 60
    whole = max(part["width"] for part in parts)
    for part in parts:
        count = int(re.search(r", (\d+) of 6$", part["label"]).group(1))
        assert part["width"] == pytest.approx(whole * count / 6, abs=1.5), part
    assert "shard: SlidingWindow(last=12): invented, 6 of 6" in labels(figure)


def test_the_scatter_names_every_policy_and_its_frontier(opened, html):
    page = opened(html)
    figure = chart(page, "Cost against answers: employee, shard")
    assert "pinned: 170,020 tokens billed, 12 of 12 wordings answered, on the frontier" in labels(
        figure
    )
    table = {row[0]: row[1:] for row in rows(figure)[1:]}
    assert table["full_history"] == ["370,291", "12", "12", ""]
    assert {name for name, row in table.items() if row[-1] == "yes"} == {
        "SlidingWindow(last=12)",
        "UserMessages(last_turns=4)",
        "pinned",
    }
    places = {box["label"].partition(":")[0]: box["x"] for box in boxes(figure)}
    assert sorted(places, key=places.get) == sorted(
        table, key=lambda name: int(table[name][0].replace(",", ""))
    )
    carried = chart(page, "Cost against carried facts")
    assert len(labels(carried)) == 6


def test_no_text_of_a_chart_is_cut_off_or_lies_on_another(opened, html):
    page = opened(html)
    found = page.evaluate(
        """() => [...document.querySelectorAll("svg")].flatMap(svg => {
          const out = svg.getBoundingClientRect(), wrong = [];
          const texts = [...svg.querySelectorAll("text")].map(e => [e, e.getBoundingClientRect()]);
          for (const [e, b] of texts) {
            if (b.left < out.left - 1 || b.right > out.right + 1 || b.top < out.top - 1 ||
                b.bottom > out.bottom + 1) wrong.push("cut: " + e.textContent);
            for (const [f, c] of texts)
              if (e !== f && b.left < c.right - 1 && c.left < b.right - 1 &&
                  b.top < c.bottom - 3 && c.top < b.bottom - 3)
                wrong.push(e.textContent + " on " + f.textContent);
          }
          return wrong;
        })"""
    )
    assert found == []


def test_the_matrix_and_the_changes_are_as_the_run_has_them(opened, html):
    page = opened(html)
    matrix = page.locator("#policies table").first.inner_text()
    assert "carried 0/6 (original, echoed); answered 4/6" in matrix
    changed = page.locator("#changes tbody tr").all_inner_texts()
    assert [row.split("\t")[2] for row in changed] == [
        "incomparable",
        "regressed",
        "stale",
        "new",
        "improved",
        "unchanged",
    ]
    assert "counter, model" in changed[0]
    assert "158,204\t171,900" in changed[1]
    assert "the dearer notes are worth it (before: 150,000)" in changed[5]


@pytest.mark.parametrize("way", ["hover", "click", "keyboard"])
def test_a_tip_says_what_a_mark_is(opened, html, way):
    page = opened(html)
    figure = chart(page, "Buckets by call")
    marks = figure.locator(LABELS)
    second = marks.nth(1)
    tip = page.locator("#tip")
    assert tip.is_hidden()
    if way == "keyboard":
        figure.locator(".chart").focus()
        page.keyboard.press("Tab")
        assert tip.inner_text() == marks.nth(0).get_attribute("aria-label")
        page.keyboard.press("ArrowRight")
    elif way == "hover":
        second.hover()
    else:
        second.click()
        page.mouse.move(1, 1)
    assert tip.is_visible()
    assert tip.inner_text() == second.get_attribute("aria-label")
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_the_tip_of_a_break_has_the_texts_that_differ_and_can_be_pointed_at(opened, html):
    page = opened(html)
    figure = chart(page, "Prefix by call")
    figure.locator("svg a").first.hover()
    tip = page.locator("#tip")
    assert "before: cleared to keep the request inside the budget" in tip.inner_text()
    assert '{"shard": "pay-shard-7", "lag": 4417}' in tip.inner_text()
    tip.hover()
    assert tip.is_visible()
    page.locator("h1").hover()
    assert tip.is_hidden()


def test_a_chart_is_one_stop_of_the_tab_key_and_arrows_lead_to_all_its_marks(opened, html):
    page = opened(html)
    figure = chart(page, "Prefix by call")
    count = figure.locator(LABELS).count()
    assert figure.locator("svg [tabindex='0']").count() == 1
    figure.locator("svg [tabindex='0']").focus()
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.localName") == "a"
    page.keyboard.press("Enter")
    assert figure.locator(":target").count() == 1
    assert figure.locator(LABELS).count() == count


def hostile_run():
    broken = Break(where=HOSTILE, before=HOSTILE, after=HOSTILE, why=HOSTILE)
    finding = runs.finding(what=HOSTILE, where=HOSTILE, measured=HOSTILE, remedy=HOSTILE)
    judged = runs.judgement(HOSTILE, finding, summary=HOSTILE)
    told = tuple(replace(fact, name=HOSTILE, sources=(HOSTILE,)) for fact in facts(4, 2)[:1])
    replays = [
        runs.replay(
            judged,
            name=HOSTILE,
            policy=policy,
            label=HOSTILE,
            counter=HOSTILE,
            approximate=HOSTILE,
            facts=told,
            billed=billed,
            by_call=calls(12, every=3, broken=broken),
        )
        for policy, billed in ((HOSTILE, 1_000), ("__proto__", 2_000))
    ]
    told_cells = tuple(replace(cell, title=HOSTILE, name=HOSTILE) for cell in cells((0.0, 0.5)))
    recall = runs.recall(judged, cells=told_cells, policy=HOSTILE, population=HOSTILE)
    test = runs.result("t.py::t", *replays, replace(recall, name=HOSTILE), message=HOSTILE)
    test = replace(test, nodeid=HOSTILE, note=HOSTILE, rerun=HOSTILE, unchecked=(HOSTILE,))
    other = runs.result("t.py::u", verdict="error", outcome="failed", message=HOSTILE)
    change = runs.change("incomparable", 1, 2, nodeid=HOSTILE, label=HOSTILE, differing=(HOSTILE,))
    base = whole_run()
    return Run(
        tests=(replace(other, details=HOSTILE), test),
        findings=(finding,),
        changes=(replace(change, metric=HOSTILE),),
        written=(HOSTILE,),
        instruments=replace(base.instruments, model=HOSTILE, counter=HOSTILE, compare=HOSTILE),
        collection=replace(base.collection, narrowed=(HOSTILE,)),
        effort=replace(base.effort, started=HOSTILE, notes=(HOSTILE,)),
    )


def test_hostile_text_is_shown_and_does_nothing(opened):
    page = opened(hostile_run())
    for summary in page.locator("summary").all():
        summary.click()
    for figure in page.locator("figure").all():
        figure.locator(LABELS).last.hover()
        figure.locator(LABELS).last.click()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, object, embed, [onclick], [onerror]").count() == 0
    assert page.locator("script").count() == 1
    assert set(
        page.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href')[0])")
    ) == {"#"}
    text = page.locator("body").inner_text()
    assert "<script>window.pwned=1</script><img src=x onerror=window.pwned=2>" in text
    assert "{{ 7*7 }}" in text
    assert "\\u202egnp.\\u2066 \\x00\\x1b[31m \\ud800 &amp; שלום" in text
    whole = page.content()
    assert not re.search("[\x00\x1b\u202e\u2066\ud800-\udfff]", whole)
    assert "<script>window.pwned=1</script>" in "".join(
        page.locator(LABELS).evaluate_all("all => all.map(e => e.ariaLabel)")
    )


def test_without_scripts_every_number_can_be_read(opened, html):
    page = opened(html, scripts=False)
    figure = chart(page, "Buckets by call")
    assert figure.locator("svg").is_visible()
    details = figure.locator("details")
    assert not details.locator("table").is_visible()
    details.locator("summary").click()
    assert details.locator("table").is_visible()
    assert details.locator("tbody tr").count() == 20
    assert page.locator("#tip").is_hidden()
    strip = chart(page, "Prefix by call")
    strip.locator("svg a").first.click()
    assert "cleared to keep the request" in strip.locator(":target").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_axe_finds_nothing_and_the_page_does_not_scroll_sideways(opened, html, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(html, width=width, scheme=scheme)
    for details in page.locator("details").all()[:12]:
        details.evaluate("e => { e.open = true }")
    found = axe.Axe().run(page)
    told = [
        (each["id"], [node["html"][:200] for node in each["nodes"][:3]])
        for each in found.response["violations"]
    ]
    assert told == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 29)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_stand_out_from_the_page_and_their_text_from_them(opened, html, scheme):
    page = opened(html, scheme=scheme)
    colours = page.evaluate(
        """() => {
          const style = getComputedStyle(document.documentElement), found = {};
          const names = ["paper", "ink", "quiet", "edge", "on-mark", "hit", "neighbour",
            "invented", "abstained", "other", "error", "system", "tools", "tool-results",
            "conversation", "reused", "new", "new-after-a-break", "frontier", "beaten"];
          for (const name of names) found[name] = style.getPropertyValue("--" + name).trim();
          return found;
        }"""
    )
    paper = colours["paper"]
    assert contrast(colours["ink"], paper) >= 7
    assert contrast(colours["quiet"], paper) >= 4.5
    for name in ("frontier", "beaten"):
        assert contrast(colours[name], paper) >= 3
    for name in list(colours)[5:-2]:
        assert contrast(colours["on-mark"], colours[name]) >= 4.5, name
        assert max(contrast(colours["edge"], paper), contrast(colours[name], paper)) >= 3, name
        assert contrast(colours["edge"], colours[name]) >= 3, name


def contrast(one, other):
    """WCAG 2.2's ratio of two colours ``#rrggbb``."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_on_paper_charts_fit_in_dark_ink_on_white(opened, html):
    page = opened(html, width=720, media="print", scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    assert page.evaluate(
        "[...document.querySelectorAll('svg')].every(e => e.getBoundingClientRect().right <= 720)"
    )
    assert page.pdf(format="A4")[:5] == b"%PDF-"


def test_headings_go_down_one_level_at_a_time_and_the_first_link_skips(opened, html):
    page = opened(html)
    levels = [int(e.evaluate("e => e.localName[1]")) for e in page.locator("h1,h2,h3,h4").all()]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the verdict"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_run_of_nothing_says_so(opened):
    page = opened(Run())
    assert page.locator("h1").inner_text() == "Context gate: – skipped"
    assert "No guarded test ran." in page.locator("main").inner_text()
    assert page.locator("svg").count() == 0
