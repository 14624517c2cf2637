import unittest

from search.pager import page_count
from search.results import overview


class Pager(unittest.TestCase):
    def test_a_rest_has_its_own_page(self):
        self.assertEqual(page_count(7, 3), 3)

    def test_overview_ends_with_the_rest(self):
        self.assertEqual(overview(list("abcdefg"), 3)[-1], "3: g - g")
