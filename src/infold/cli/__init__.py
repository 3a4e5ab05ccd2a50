"""The `infold` command."""
