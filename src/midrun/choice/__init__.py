"""WHICH x TO PLAY: acquisitions, their optimism, and all local optima of a surface."""
