"""Memory without a model: sentences as they were said, chosen by two scores."""
