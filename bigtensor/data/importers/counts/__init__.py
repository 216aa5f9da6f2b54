"""Files of sparse counts: bags of words, Matrix Market and long tables."""
