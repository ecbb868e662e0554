"""`python -m errands`: the command line, where the script `errands` is not on the path."""

import sys

from errands.cli import main

if __name__ == "__main__":
    sys.exit(main())
