"""Adapters to what people train and tune with; thin, and imported by nothing else in midrun."""
