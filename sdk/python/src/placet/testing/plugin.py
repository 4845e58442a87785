"""The pytest plugin of placet: fixtures come with the package."""
