class Cart:
    def __init__(self, catalog):
        self.catalog = catalog
        self.lines = {}

    def add(self, sku, quantity=1):
        self.lines[sku] = self.lines.get(sku, 0) + quantity

    def total(self):
        """The sum in cents."""
        return sum(self.catalog.price(sku) * quantity for sku, quantity in self.lines.items())
