"""Labels of rows back into the files that the rows came from, one format a module."""
