import re
import unicodedata


def slugify(title, longest=60):
    """A title as the last part of a URL: lower case, words joined by hyphens."""
    text = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    text = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return text[:longest].strip("-")
