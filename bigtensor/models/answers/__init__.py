"""Answers of fitted models for rows, by kind of model."""
