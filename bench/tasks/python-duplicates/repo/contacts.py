def key(contact):
    """What makes two contacts the same person: the address, without case and space around it."""
    return contact["email"].strip().lower()


def find_duplicates(contacts):
    """Pairs (first index, later index) of contacts that are the same person, ordered by the later one.

    Every later contact is paired with the first one that has the same key.
    """
    pairs = []
    for later in range(len(contacts)):
        for first in range(later):
            if key(contacts[first]) == key(contacts[later]):
                pairs.append((first, later))
                break
    return pairs
