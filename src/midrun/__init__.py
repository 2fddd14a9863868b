"""Hyperparameters tuned mid-run; validation is paid for only when it can change a decision."""

from midrun.belief.prior import Belief as Belief
from midrun.choice.acquisition import EI as EI
from midrun.choice.acquisition import PI as PI
from midrun.choice.acquisition import UCB as UCB
from midrun.choice.acquisition import Mean as Mean
from midrun.choice.beta import LogBeta as LogBeta
from midrun.choice.beta import TheoryBeta as TheoryBeta
from midrun.history import Decision as Decision
from midrun.paper import ce_gp_ucb as ce_gp_ucb
from midrun.parameters import Categorical as Categorical
from midrun.parameters import Constant as Constant
from midrun.parameters import Float as Float
from midrun.parameters import Integer as Integer
from midrun.parameters import Ordinal as Ordinal
from midrun.query.confidence import Confidence as Confidence
from midrun.query.confidence import NoOverlap as NoOverlap
from midrun.query.expected_regret import ExpectedRegret as ExpectedRegret
from midrun.query.guard import Guard as Guard
from midrun.query.pacing import Budget as Budget
from midrun.query.pacing import Overhead as Overhead
from midrun.query.rule import Reason as Reason
from midrun.query.simple import Always as Always
from midrun.query.simple import Bernoulli as Bernoulli
from midrun.query.simple import Every as Every
from midrun.replay import Replay as Replay
from midrun.tuner import Tuner as Tuner

__version__ = "0.1.0"
