"""``python -m infra.cli``."""

import sys

from infra.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
