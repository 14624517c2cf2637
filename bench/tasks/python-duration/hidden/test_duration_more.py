import unittest

from duration import parse_duration


class More(unittest.TestCase):
    def test_good(self):
        for text, seconds in [("45s", 45), ("2h", 7200), ("1d", 86400), ("1d2h3m4s", 93784), ("0", 0), ("1h5s", 3605)]:
            self.assertEqual(parse_duration(text), seconds, text)

    def test_bad(self):
        for text in ["", "h", "10x", "30m1h", "1m2m", "-5s", "1.5h", "1h30", "five"]:
            with self.assertRaises(ValueError, msg=text):
                parse_duration(text)
