import unittest

from slug import slugify


class Slug(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(slugify("Ten Easy Dinners!"), "ten-easy-dinners")

    def test_accents(self):
        self.assertEqual(slugify("Crème brûlée"), "creme-brulee")
