"""Judges deliveries by the sample of docs/webhooks.md; see driver.mjs."""
import base64
import sys

from webhook import is_genuine

for line in sys.stdin:
    fields = [base64.b64decode(field) for field in line.rstrip("\n").split("\t")]
    secrets, id, timestamp, signatures = (field.decode() for field in fields[:4])
    print(str(is_genuine(secrets.split(","), id, timestamp, signatures, fields[4])).lower())
