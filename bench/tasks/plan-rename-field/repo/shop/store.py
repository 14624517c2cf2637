import json

from shop.address import Address


def save(path, address):
    with open(path, "w") as file:
        json.dump({"street": address.street, "city": address.city, "zip": address.zip}, file)


def load(path):
    with open(path) as file:
        return Address(**json.load(file))
