"""Statistics and answers of hidden chains, exact along sequences of any length."""
