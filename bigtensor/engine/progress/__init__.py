"""Progress of passes and steps, for displays."""
