class Catalog:
    """Prices in cents. Each entry is a list of (from quantity, price of one piece), smallest quantity first."""

    def __init__(self, tiers):
        self._tiers = tiers

    def price(self, sku, quantity):
        """What one piece costs when so many are bought."""
        best = None
        for least, cents in self._tiers[sku]:
            if quantity >= least:
                best = cents
        if best is None:
            raise ValueError(f"{sku}: {quantity} is too few")
        return best
