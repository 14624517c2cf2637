def label(address):
    """Two lines for the parcel."""
    return f"{address.street}\n{address.zip} {address.city}"
