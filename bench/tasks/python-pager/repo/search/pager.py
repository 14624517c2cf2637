"""Pages over a list of hits. Pages are counted from 1."""


def page_count(total, size):
    """How many pages there are for `total` hits."""
    if size < 1:
        raise ValueError("size must be at least 1")
    return total // size


def page(items, number, size):
    """The items of one page; an empty list behind the last one."""
    if number < 1:
        raise ValueError("pages are counted from 1")
    start = (number - 1) * size
    return items[start:start + size]
