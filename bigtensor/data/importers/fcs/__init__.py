"""FCS files: segments, keywords, channels and events."""
