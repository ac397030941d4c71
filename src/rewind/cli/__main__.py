"""`python -m rewind.cli`: the command `rewind`."""

from rewind.cli.main import main

if __name__ == "__main__":
    main()
