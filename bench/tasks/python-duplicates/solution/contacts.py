def key(contact):
    """What makes two contacts the same person: the address, without case and space around it."""
    return contact["email"].strip().lower()


def find_duplicates(contacts):
    """Pairs (first index, later index) of contacts that are the same person, ordered by the later one.

    Every later contact is paired with the first one that has the same key.
    """
    firsts = {}
    pairs = []
    for index, contact in enumerate(contacts):
        first = firsts.setdefault(key(contact), index)
        if first != index:
            pairs.append((first, index))
    return pairs
