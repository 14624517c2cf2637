import csv

COLUMNS = ["street", "city", "zip"]


def write(addresses, file):
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for address in addresses:
        writer.writerow([getattr(address, column) for column in COLUMNS])
