import re

FORM = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)


def parse_duration(text):
    """Seconds of a duration such as 45s or 10m; see README.md."""
    if re.fullmatch(r"\d+", text, re.ASCII):
        return int(text)
    match = FORM.fullmatch(text)
    if not text or not match:
        raise ValueError(f"not a duration: {text!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
