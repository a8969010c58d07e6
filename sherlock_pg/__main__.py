"""`python -m sherlock_pg` is the command line."""

from sherlock_pg.cli.main import main

if __name__ == "__main__":
    main()
