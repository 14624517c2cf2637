import unittest

from duration import parse_duration


class Duration(unittest.TestCase):
    def test_one_unit(self):
        self.assertEqual(parse_duration("10m"), 600)

    def test_two_units(self):
        self.assertEqual(parse_duration("1h30m"), 5400)

    def test_plain_seconds(self):
        self.assertEqual(parse_duration("90"), 90)
