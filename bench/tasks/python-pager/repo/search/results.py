from search.pager import page, page_count


def overview(items, size):
    """One line per page: its number and its first and last item."""
    lines = []
    for number in range(1, page_count(len(items), size) + 1):
        hits = page(items, number, size)
        lines.append(f"{number}: {hits[0]} - {hits[-1]}")
    return lines
