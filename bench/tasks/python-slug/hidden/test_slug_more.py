import unittest

from slug import slugify


class More(unittest.TestCase):
    def test_many(self):
        for title, slug in [
            ("Ångström & Öl", "angstrom-ol"),
            ("Čeština pro začátečníky", "cestina-pro-zacatecniky"),
            ("cafe\u0301 au lait", "cafe-au-lait"),
            ("  100% más  ", "100-mas"),
            ("ﬁne dining", "fine-dining"),
            ("plain", "plain"),
        ]:
            self.assertEqual(slugify(title), slug)

    def test_length(self):
        self.assertEqual(slugify("ééé bbb", longest=4), "eee")
