def receipt(cart):
    """One line for each article, and the total."""
    lines = []
    for sku, quantity in sorted(cart.lines.items()):
        each = cart.catalog.price(sku)
        lines.append(f"{quantity} x {sku} @ {each / 100:.2f} = {each * quantity / 100:.2f}")
    lines.append(f"total {cart.total() / 100:.2f}")
    return "\n".join(lines)
