"""`python -m sale_sofia` is the command `sale-sofia`."""

from sale_sofia.cli.main import main

if __name__ == "__main__":
    main()
