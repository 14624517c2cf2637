import tempfile
import unittest

from shop.address import Address
from shop.store import load, save


class Store(unittest.TestCase):
    def test_there_and_back(self):
        with tempfile.NamedTemporaryFile() as file:
            save(file.name, Address("Road 1", "Town", "12345"))
            self.assertEqual(load(file.name).zip, "12345")
