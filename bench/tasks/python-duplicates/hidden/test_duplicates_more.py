import time
import unittest

from contacts import find_duplicates


class More(unittest.TestCase):
    def test_the_first_one_counts(self):
        people = [{"email": e} for e in ["a@x", "A@x ", "b@x", "a@X", "b@x"]]
        self.assertEqual(find_duplicates(people), [(0, 1), (0, 3), (2, 4)])
        self.assertEqual(find_duplicates([]), [])

    def test_large_books_with_duplicates(self):
        people = [{"email": f"p{n % 20000}@x.org"} for n in range(30000)]
        began = time.monotonic()
        pairs = find_duplicates(people)
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(len(pairs), 10000)
        self.assertEqual(pairs[0], (0, 20000))

    def test_contacts_are_left_as_they_are(self):
        people = [{"email": " A@x "}]
        find_duplicates(people)
        self.assertEqual(people, [{"email": " A@x "}])
