import time
import unittest

from contacts import find_duplicates


class Duplicates(unittest.TestCase):
    def test_pairs(self):
        people = [{"email": "a@x.org"}, {"email": "b@x.org"}, {"email": " A@x.org"}]
        self.assertEqual(find_duplicates(people), [(0, 2)])

    def test_large_books(self):
        people = [{"email": f"person{n}@x.org"} for n in range(6000)]
        began = time.monotonic()
        find_duplicates(people)
        self.assertLess(time.monotonic() - began, 1.5)
