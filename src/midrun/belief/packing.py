"""Arrays as JSON strings, exact to the last bit and a third larger than their bytes."""

from __future__ import annotations

import base64

import numpy as np

from midrun.belief.kernels import Array


def pack(array: Array) -> str:
    """Little-endian float64 bytes in base64; the shape is the reader's to know.

    Example:
        >>> unpack(pack(np.array([0.1, -0.0])), (2,))
        array([ 0.1, -0. ])
    """
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode("ascii")


def unpack(text: str, shape: tuple[int, ...]) -> Array:
    """Inverse of :func:`pack`; a wrong length says so."""
    flat = np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
    if flat.size != int(np.prod(shape)):
        raise ValueError(
            f"a packed array must hold {int(np.prod(shape))} numbers for shape {shape}, but got "
            f"{flat.size}: the state is truncated or of another problem."
        )
    return flat.reshape(shape)
