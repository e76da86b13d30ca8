"""`python -m verify` is `repot`, for an environment without console scripts."""

from verify.cli import main

if __name__ == "__main__":
    main()
