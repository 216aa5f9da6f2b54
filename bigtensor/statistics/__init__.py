"""Statistics: from a block of rows to arrays that add up."""
