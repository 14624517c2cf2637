import unittest

from search.pager import page, page_count
from search.results import overview


class More(unittest.TestCase):
    def test_counts(self):
        for total, size, pages in [(0, 5, 0), (1, 5, 1), (5, 5, 1), (6, 5, 2), (10, 5, 2), (11, 5, 3), (3, 1, 3)]:
            self.assertEqual(page_count(total, size), pages, (total, size))

    def test_sizes_are_checked(self):
        with self.assertRaises(ValueError):
            page_count(3, 0)

    def test_pages_hold_everything_once(self):
        items = list(range(23))
        seen = [i for n in range(1, page_count(23, 4) + 1) for i in page(items, n, 4)]
        self.assertEqual(seen, items)

    def test_nothing_has_no_overview(self):
        self.assertEqual(overview([], 3), [])
