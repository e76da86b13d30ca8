"""`python -I -m repot.hook`: the pre-push hook, `verify.ci.hook`, with its options."""

from repot.launcher import start

if __name__ == "__main__":
    start("verify.ci.hook", by_name=True)
