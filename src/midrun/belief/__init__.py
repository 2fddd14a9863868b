"""WHAT WE BELIEVE about the reward f_t(x): a time-varying Gaussian process, exactly."""

from midrun.belief.prior import Belief as Belief
