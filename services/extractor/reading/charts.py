"""Charts and diagrams of Office documents: the categories and values that a chart shows, the words of a diagram."""

from collections.abc import Iterable, Iterator

from lxml.etree import SubElement, _Element

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.formats import format_of, shown
from services.extractor.reading.package import Package, Relation
from services.extractor.reading.xml import attribute, child, local

_MAX_POINTS = 5_000
_MAX_SERIES = 100
_MAX_NODES = 5_000


def relation_id(node: _Element, name: str = "id") -> str:
    """Return the id of a relationship that an attribute holds."""
    return next((str(value) for key, value in node.items() if str(key).endswith(f"relationships}}{name}")), "")


def graphic_part(node: _Element, relations: dict[str, Relation]) -> tuple[str, str] | None:
    """Return kind ("chart" or "diagram") and part of what an element draws, None for anything else."""
    kind = local(node)
    found = relation_id(node, "dm") if kind == "relIds" else relation_id(node) if kind == "chart" else ""
    relation = relations.get(found)
    return None if relation is None else ("diagram" if kind == "relIds" else "chart", relation.target)


def write_graphic(package: Package, found: tuple[str, str], tree: _Element) -> None:
    """Add what a chart or a diagram says; a part that is missing adds nothing."""
    kind, part = found
    if package.has(part):
        (_write_diagram if kind == "diagram" else write_chart)(package.xml(part), tree)


def write_chart(root: _Element, tree: _Element) -> None:
    """Add a chart as a table: a row for each category, a column for each series, its titles above."""
    chart = child(root, "chart")
    area = child(chart, "plotArea")
    series = [node for node in _below(area) if local(node) == "ser"][:_MAX_SERIES]
    columns = [(_name(node), _points(node, ("val", "yVal"))) for node in series]
    title = _words(child(chart, "title"))
    if not title and len(columns) == 1:
        title = columns[0][0]
    axes = [words for node in _children(area) if (words := _words(child(node, "title")))]
    told = ": ".join(filter(None, ("Chart", "; ".join(filter(None, (title, *axes))))))
    if columns:
        _write_columns(told, columns, _labels(series), tree)
    elif title:
        SubElement(tree, "p").text = told


def _labels(series: list[_Element]) -> dict[int, str]:
    """Return the categories; where series name them differently, the first one's count."""
    labels: dict[int, str] = {}
    for node in series:
        labels = _points(node, ("cat", "xVal")) | labels
    return labels


def _write_columns(
    told: str, columns: list[tuple[str, dict[int, str]]], labels: dict[int, str], tree: _Element
) -> None:
    """Add the table of a chart: the name and the points of each column, beside the labels of the rows."""
    table = SubElement(tree, "table")
    SubElement(table, "caption").text = told
    header = SubElement(table, "tr")
    for name in ("", *(name for name, _ in columns)):
        SubElement(header, "th").text = name
    for number in sorted({place for _, points in columns for place in points} | labels.keys()):
        row = SubElement(table, "tr")
        for text in (labels.get(number, ""), *(points.get(number, "") for _, points in columns)):
            SubElement(row, "td").text = text


def _children(node: _Element | None) -> Iterable[_Element]:
    return () if node is None else node


def _below(node: _Element | None) -> Iterable[_Element]:
    return () if node is None else node.iter()


def _name(series: _Element) -> str:
    """Return the name of a series."""
    values = (found.text or "" for found in _below(child(series, "tx")) if local(found) == "v")
    return squeeze(" ".join(values))[:80]


def _words(title: _Element | None) -> str:
    """Return the words of a title."""
    texts = (node for node in _below(title) if local(node) in ("t", "v"))
    return squeeze("".join(node.text or "" for node in texts))[:500]


def _points(series: _Element, names: tuple[str, ...]) -> dict[int, str]:
    """Return what is shown at each place; of categories in several levels all, the outer ones first."""
    holder = next((node for name in names if (node := child(series, name)) is not None), None)
    found: dict[int, str] = {}
    if holder is None:
        return found
    levels = [node for node in holder.iter() if local(node) == "lvl"]
    if levels:
        inner, *outer = map(_cached, levels)
        for place in inner:  # the label of an outer level reaches to the next one
            above = (
                level[max(p for p in level if p <= place)]
                for level in reversed(outer)
                if min(level, default=place + 1) <= place
            )
            found[place] = " ".join((*above, inner[place]))
        return found
    cache = next((node for node in holder.iter() if local(node).endswith(("Cache", "Lit"))), None)
    return _cached(cache) if cache is not None else found


def _cached(cache: _Element) -> dict[int, str]:
    """Return the points that are kept with a chart, as they are shown."""
    code = child(cache, "formatCode")
    how = format_of(0, code.text if code is not None and code.text else "General")
    is_figures = local(cache).startswith("num")
    found: dict[int, str] = {}
    for node in cache:
        place, value = attribute(node, "idx") or "", child(node, "v")
        if (
            local(node) == "pt"
            and place.isdecimal()
            and len(place) < 7
            and value is not None
            and len(found) < _MAX_POINTS
        ):
            text = squeeze(value.text or "")
            found[int(place)] = shown(text, how, from_1904=False)[0] if is_figures else text
    return found


def _write_diagram(root: _Element, tree: _Element) -> None:
    """Add the words of a diagram (SmartArt) as a list, in the order of its nodes."""
    for node in _in_order(root):
        text = squeeze(" ".join(_paragraphs(node)))
        if text:
            SubElement(tree, "li").text = text


def _paragraphs(node: _Element) -> Iterator[str]:
    for paragraph in (found for found in node.iter() if local(found) == "p"):
        yield "".join(text.text or "" for text in paragraph.iter() if local(text) == "t")


def _in_order(root: _Element) -> Iterator[_Element]:
    """Yield the nodes of a diagram from its root downwards; those that hang on nothing come last."""
    nodes = {attribute(node, "modelId") or "": node for node in _children(child(root, "ptLst"))}
    below = _links(root)
    wanted = [key for key, node in nodes.items() if attribute(node, "type") in (None, "node", "asst")][:_MAX_NODES]
    waiting = [key for key, node in nodes.items() if attribute(node, "type") == "doc"]
    done: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key in done:
            continue
        done.add(key)
        if key in nodes and attribute(nodes[key], "type") != "doc":
            yield nodes[key]
        waiting += [inner for _, inner in sorted(below.get(key, ()), reverse=True)]
    yield from (nodes[key] for key in wanted if key not in done)


def _links(root: _Element) -> dict[str, list[tuple[int, str]]]:
    """Return, by the key of a node, the places and keys of those that hang on it."""
    below: dict[str, list[tuple[int, str]]] = {}
    for link in _children(child(root, "cxnLst")):
        if attribute(link, "type") in (None, "parOf"):
            order = attribute(link, "srcOrd") or "0"
            place = int(order) if order.isdecimal() and len(order) < 7 else 0
            below.setdefault(attribute(link, "srcId") or "", []).append((place, attribute(link, "destId") or ""))
    return below
