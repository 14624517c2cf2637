import unittest

from shop.cart import Cart
from shop.catalog import Catalog

CATALOG = Catalog({"nail": [(1, 10), (100, 8)], "hammer": [(1, 1500)]})


class Totals(unittest.TestCase):
    def test_many_are_cheaper(self):
        cart = Cart(CATALOG)
        cart.add("nail", 60)
        cart.add("nail", 40)
        cart.add("hammer")
        self.assertEqual(cart.total(), 100 * 8 + 1500)
