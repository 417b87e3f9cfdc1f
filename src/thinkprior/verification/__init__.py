"""Verifiable rewards: is the boxed answer of a reply the gold answer?"""

from thinkprior.verification.boxes import last_box
from thinkprior.verification.verdicts import BatchReport, CanaryError, Verdict
from thinkprior.verification.verifier import Verifier

__all__ = ["BatchReport", "CanaryError", "Verdict", "Verifier", "last_box"]
