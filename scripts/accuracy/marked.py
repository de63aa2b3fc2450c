"""The parts of a page that scripts write: each stands between two lines, and everything outside of them is written by hand.

    part_of(page, "judged")                # the text between <!-- judged: from here --> and <!-- judged: to here -->; None if the page has no such part
    with_part(page, "judged", "| a |\\n")   # the page with this text there; ValueError if it has no such part
"""


def edges_of(name):
    return f"<!-- {name}: from here -->\n", f"<!-- {name}: to here -->\n"


def place_of(page, name):
    """Where the text of a part begins and ends; None without it."""
    begin, end = edges_of(name)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(end) < page.index(begin):
        return None
    return page.index(begin) + len(begin), page.index(end)


def part_of(page, name):
    place = place_of(page, name)
    return page[place[0]:place[1]] if place else None


def with_part(page, name, text):
    place = place_of(page, name)
    if place is None:
        raise ValueError(f"the page has not one part {' ... '.join(edge.strip() for edge in edges_of(name))}")
    return page[:place[0]] + text.rstrip("\n") + "\n" + page[place[1]:]


def with_parts(page, parts):
    """The page with the texts of several parts, by name."""
    for name, text in parts.items():
        page = with_part(page, name, text)
    return page
