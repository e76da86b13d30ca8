"""`python -m verify` is `repot` in a checkout, from its top and without installing anything."""

from verify.cli import main

if __name__ == "__main__":
    main()
