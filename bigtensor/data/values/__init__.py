"""Values of data: numbers, categories, missing entries and their types."""
