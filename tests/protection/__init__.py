"""What a restructuring must not change: digests recorded with the old code, compared with the code of today.

`python -m tests.protection.record` writes expected.json. On purpose only: when a number changes, behaviour has changed.
"""
