"""`python -m proctor`: the same as the command `proctor`."""

from proctor.cli import main

if __name__ == "__main__":
    main()
