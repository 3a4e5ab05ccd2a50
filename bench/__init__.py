"""Speed and size of infold, measured."""
