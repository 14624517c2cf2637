UNITS = {"s": 1, "m": 60, "h": 3600}


def parse_duration(text):
    """Seconds of a duration such as 45s or 10m; see README.md."""
    number, unit = text[:-1], text[-1]
    return int(number) * UNITS[unit]
