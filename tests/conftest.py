"""What holds for every test: one BLAS thread and reproducible examples."""

import os

# Before NumPy is loaded. Two workers share the cores, and sums are split the same way everywhere,
# so that "bit for bit" means the same in every process.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from hypothesis import settings  # noqa: E402

settings.register_profile("midrun", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("midrun")
