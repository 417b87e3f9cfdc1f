"""Two-parameter logistic (2PL) item-response model: the paper's arms "bank" and "bank-sharp".

A respondent of ability theta answers an item correctly with probability sigmoid(a (theta - b)),
where a is the item's discrimination and b its difficulty; abilities are N(0, 1) in the population.
The items are fitted by marginal maximum a posteriori: the abilities are integrated out, and weak
priors keep the items finite that everybody, or nobody, solves.

Priors: log a ~ N(0, 0.5) and b ~ N(m, 1.5), standard deviations, with m estimated along (its prior
is flat), so m is the mean of the difficulties.

Quadrature: Gauss-Hermite nodes are placed for each respondent around the mode of its ability's
posterior, scaled by the curvature there (adaptive quadrature). With hundreds of items that
posterior is narrower than the distance between nodes shared by all (0.49 for 41 nodes, against a
standard deviation of 0.13 at 250 items with one answer each and 0.03 with sixteen): a respondent
would collapse onto one node, with an ability off by up to half that distance and an error of zero.
Nodes of its own leave so little to integrate that 11 give the estimates of 41 (within 1e-6 for 250
items).

Fit: expectation-maximisation with one Fisher-scoring step an item as M-step, followed by the
parameter-expanded step that lets the population's mean and variance move and then maps them back
to N(0, 1) by rescaling the items (Liu, Rubin and Wu 1998). Plain EM crawls along exactly these two
directions, since narrow posteriors say almost nothing about where the scale's origin is. The steps
are extrapolated by Anderson acceleration (Henderson and Varadhan 2019), which is undone where it
would lower the log posterior, as is any other step, by halving it.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import expit, logit

from thinkprior.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntegerArray = npt.NDArray[np.integer]

LOG_DISCRIMINATION_SD = 0.5
DIFFICULTY_SD = 1.5

# Elements of a [respondents, nodes, items] block: small enough for the cache, so memory stays
# bounded for any number of respondents.
_BLOCK_ELEMENTS = 100_000
_LARGEST_STEP = np.array([[0.5], [1.0]])  # log discrimination, difficulty; in one iteration
_HALVINGS = 20
_MEMORY = 5  # earlier steps that the acceleration looks back on
_SLACK = 1e-12  # of the log posterior: what its summation rounds


@dataclass(frozen=True)
class FitReport:
    """How a fit went.

    Attributes:
        iterations: Iterations of expectation-maximisation taken.
        converged: Whether the last change was within the tolerance.
        change: Largest absolute change of a log discrimination or a difficulty that the last
            iteration asked for.
        log_posterior: Log posterior density of the items at the estimate, abilities integrated
            out, as `log_posterior` gives it.
        all_right: Items whose every answer is correct: their difficulty rests on the prior.
        all_wrong: Items without a correct answer: likewise.
        nodes: Quadrature nodes a respondent.
    """

    iterations: int
    converged: bool
    change: float
    log_posterior: float
    all_right: int
    all_wrong: int
    nodes: int


@dataclass(frozen=True)
class ItemBank:
    """A fitted bank: items on the scale on which the population's ability is N(0, 1).

    Attributes:
        discrimination: a, by item, positive.
        difficulty: b, by item: the ability at which half of the answers are correct.
        discrimination_error: Standard error of a (delta method from log a), by item.
        difficulty_error: Standard error of b, by item.
        ability: Posterior mean (EAP) by respondent, the items taken as known.
        ability_error: Posterior standard deviation by respondent, the items taken as known.
        report: How the fit went.
    """

    discrimination: FloatArray
    difficulty: FloatArray
    discrimination_error: FloatArray
    difficulty_error: FloatArray
    ability: FloatArray
    ability_error: FloatArray
    report: FitReport


@dataclass(frozen=True)
class _Responses:
    correct: FloatArray
    trials: FloatArray


@dataclass(frozen=True)
class _Rule:
    """Gauss-Hermite rule for an integral over a standardised ability, without its weight."""

    nodes: FloatArray
    log_weights: FloatArray

    @classmethod
    def of_size(cls, size: int) -> "_Rule":
        if not 5 <= size <= 100:
            raise InputError(f"nodes must be 5 to 100, not {size}")
        nodes, weights = np.polynomial.hermite_e.hermegauss(size)
        return cls(nodes, np.log(weights) + nodes**2 / 2)


class _Acceleration:
    """Anderson acceleration of a fixed-point iteration from its last few steps.

    It extrapolates to where a linear map through these steps would have a step of zero; every
    proposal is tried against the objective, so acceleration can cost an evaluation but no ascent.
    """

    def __init__(self) -> None:
        self._history: list[tuple[FloatArray, FloatArray]] = []

    def proposals(self, parameters: FloatArray, step: FloatArray) -> Iterator[FloatArray]:
        """Yields the parameters to try in turn: accelerated, the plain step, ever shorter ones."""
        self._history = [*self._history[-_MEMORY:], (parameters, step)]
        if len(self._history) > 1:
            moved = np.diff([past.ravel() for past, _ in self._history], axis=0).T
            turned = np.diff([past.ravel() for _, past in self._history], axis=0).T
            mixture = np.linalg.lstsq(turned, step.ravel(), rcond=1e-8)[0]
            yield parameters + step - ((moved + turned) @ mixture).reshape(step.shape)
        for halving in range(_HALVINGS):
            yield parameters + step * 0.5**halving

    def forget(self) -> None:
        """Drops the steps, after a proposal that led downhill."""
        self._history = []


@dataclass(frozen=True)
class _Posterior:
    """The abilities' posterior in one block of respondents, on its own nodes.

    Arrays are [respondents, nodes], and [respondents, nodes, items] for the probabilities.
    """

    rows: slice
    ability: FloatArray
    weights: FloatArray
    log_likelihood: float
    probability: FloatArray


@dataclass(frozen=True)
class _Expectation:
    """What an E-step leaves: sums over respondents, expectations over their abilities.

    `gradient` and `information` hold (log a, b) and (log a log a, log a b, b b) in rows, an item a
    column; both are of the expected complete-data log likelihood, the priors aside.
    """

    log_likelihood: float
    gradient: FloatArray
    information: FloatArray
    ability: FloatArray
    ability_variance: FloatArray
    mode: FloatArray


def fit_two_parameter(
    correct: IntegerArray,
    trials: IntegerArray,
    *,
    nodes: int = 11,
    tolerance: float = 1e-4,
    max_iterations: int = 500,
) -> ItemBank:
    """Fits the 2PL model by marginal maximum a posteriori.

    The standard errors come from the observed information of the marginal log posterior (Louis
    1982), inverted over all items at once, with m free. The M-step's expected complete-data
    information would take the abilities as known: it leaves out what the items share, above all
    the uncertainty of the scale's origin (1/sqrt(respondents)), and its intervals are too short.

    Args:
        correct: Correct answers, integers of shape [respondents, items].
        trials: Answers given, of the same shape; 0 where a respondent has not seen an item.
        nodes: Quadrature nodes a respondent, 5 to 100. Few items with many trials each can have
            posteriors far from normal: there take 41.
        tolerance: The fit has converged when no log discrimination and no difficulty changes by
            more than this in an iteration.
        max_iterations: Iterations after which the fit stops with a warning.

    Returns:
        The bank. Where the information at the estimate is not positive definite (seen only with
        fits that did not converge, or far too few nodes), the items' standard errors are nan.

    Raises:
        InputError: For a matrix that is no matrix of counts, fewer than 2 respondents, an item
            without any answer, or a matrix all right or all wrong; for settings out of range.

    Warns:
        RuntimeWarning: When the fit has not converged; the report says so as well.
    """
    responses = _validated(correct, trials)
    rule = _Rule.of_size(nodes)
    if tolerance <= 0 or max_iterations < 1:
        raise InputError(
            f"tolerance must be positive and max_iterations at least 1, "
            f"not {tolerance} and {max_iterations}"
        )
    right, answers = responses.correct.sum(axis=0), responses.trials.sum(axis=0)
    parameters = np.stack([np.zeros_like(right), -logit((right + 0.5) / (answers + 1))])
    expectation = _expect(responses, parameters, rule, np.zeros(len(responses.correct)))
    objective = expectation.log_likelihood + _log_prior(parameters)
    acceleration = _Acceleration()
    change, iterations, uphill = np.inf, 0, True
    while uphill and change > tolerance and iterations < max_iterations:
        iterations += 1
        step = _maximise(expectation, parameters) - parameters
        change = float(np.abs(step).max())
        for proposal in acceleration.proposals(parameters, step):
            proposed = _expect(responses, proposal, rule, expectation.mode)
            proposed_objective = proposed.log_likelihood + _log_prior(proposal)
            uphill = proposed_objective >= objective - _SLACK * abs(objective)
            if uphill:
                parameters, expectation, objective = proposal, proposed, proposed_objective
                break
            acceleration.forget()
    converged = change <= tolerance
    if not converged:
        advice = "raise max_iterations" if uphill else "no step leads uphill: use more nodes"
        warnings.warn(
            f"the 2PL fit has not converged: change {change:.2g} after {iterations} iterations "
            f"(tolerance {tolerance:.2g}); {advice}",
            RuntimeWarning,
            stacklevel=2,
        )
    discrimination = np.exp(parameters[0])
    errors = _standard_errors(responses, parameters, rule, expectation)
    return ItemBank(
        discrimination=discrimination,
        difficulty=parameters[1],
        discrimination_error=discrimination * errors[0],
        difficulty_error=errors[1],
        ability=expectation.ability,
        ability_error=np.sqrt(expectation.ability_variance),
        report=FitReport(
            iterations=iterations,
            converged=converged,
            change=change,
            log_posterior=objective,
            all_right=int((right == answers).sum()),
            all_wrong=int((right == 0).sum()),
            nodes=nodes,
        ),
    )


def log_posterior(
    correct: IntegerArray,
    trials: IntegerArray,
    discrimination: FloatArray,
    difficulty: FloatArray,
    *,
    nodes: int = 11,
) -> tuple[float, FloatArray, FloatArray]:
    """Marginal log posterior density of given items, and its gradient.

    The density is over (log a, b), with the priors' normalising constants, at m = the mean
    difficulty; the likelihood is that of the answers one by one, without binomial coefficients, so
    a cell of several answers counts like these answers apart. The gradient uses Fisher's identity:
    it equals that of the expected complete-data log posterior, which the M-step climbs.

    Args:
        correct: Correct answers, integers of shape [respondents, items].
        trials: Answers given, of the same shape.
        discrimination: a by item, positive.
        difficulty: b by item.
        nodes: Quadrature nodes a respondent.

    Returns:
        The log density, its derivatives by log a, and its derivatives by b.

    Raises:
        InputError: As for `fit_two_parameter`, and for items that do not fit the matrix or have a
            discrimination that is not positive.
    """
    responses = _validated(correct, trials)
    items = (responses.correct.shape[1],)
    if np.shape(discrimination) != items or np.shape(difficulty) != items:
        raise InputError(
            f"the matrix has {items[0]} items, but discrimination has shape "
            f"{np.shape(discrimination)} and difficulty {np.shape(difficulty)}"
        )
    if not np.all(np.asarray(discrimination) > 0):
        raise InputError("discriminations must be positive")
    parameters = np.stack([np.log(discrimination), difficulty])
    expectation = _expect(
        responses, parameters, _Rule.of_size(nodes), np.zeros(len(responses.correct))
    )
    gradient = expectation.gradient + _log_prior_gradient(parameters)
    return expectation.log_likelihood + _log_prior(parameters), gradient[0], gradient[1]


def response_probability(
    bank_discrimination: FloatArray, bank_difficulty: FloatArray, ability: float = 0.0
) -> FloatArray:
    """Probability of a correct answer by item, sigmoid(a (theta - b)).

    At the population's mean ability, 0, this is the prior of the arm "bank".
    """
    return np.asarray(expit(bank_discrimination * (ability - bank_difficulty)), dtype=np.float64)


def sharpen(probability: FloatArray, factor: float = 2.0) -> FloatArray:
    """Multiplies the logit of each probability by a factor: the prior of the arm "bank-sharp".

    Raises:
        InputError: For a probability outside [0, 1] or a factor that is not positive.
    """
    values = np.asarray(probability, dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise InputError("sharpen takes probabilities in [0, 1]")
    if not factor > 0:
        raise InputError(f"the factor of sharpen must be positive, not {factor}")
    return np.asarray(expit(factor * logit(values)), dtype=np.float64)


def shuffled_control(
    correct: IntegerArray, trials: IntegerArray, generator: np.random.Generator
) -> tuple[IntegerArray, IntegerArray]:
    """Permutes each item's cells over the respondents, correct and trials together.

    Every item keeps its answers, but no respondent is able throughout any more, so discrimination
    times the abilities' spread collapses in a fit of the shuffled matrix. With more respondents
    than items the discriminations themselves fall; with far more items than respondents the items'
    priors hold the scale, and the spread of `ItemBank.ability` shrinks towards 0 instead. Compare
    median(discrimination) x sd(ability) between the two fits.

    Returns:
        The shuffled `correct` and `trials`.

    Raises:
        InputError: As for `fit_two_parameter`.
    """
    _validated(correct, trials)
    correct, trials = np.asarray(correct), np.asarray(trials)
    order = generator.permuted(np.tile(np.arange(len(correct))[:, None], correct.shape[1]), axis=0)
    return np.take_along_axis(correct, order, axis=0), np.take_along_axis(trials, order, axis=0)


def _validated(correct: IntegerArray, trials: IntegerArray) -> _Responses:
    correct, trials = np.asarray(correct), np.asarray(trials)
    for name, counts in (("correct", correct), ("trials", trials)):
        if counts.ndim != 2 or counts.dtype.kind not in "iub":
            raise InputError(
                f"{name} must be integers of shape [respondents, items], "
                f"not {counts.dtype} of shape {counts.shape}"
            )
    if correct.shape != trials.shape:
        raise InputError(f"correct has shape {correct.shape} but trials {trials.shape}")
    if correct.shape[0] < 2 or correct.shape[1] < 1:
        raise InputError(
            f"a 2PL fit needs at least 2 respondents and an item, not a matrix of {correct.shape}"
        )
    responses = _Responses(correct.astype(np.float64), trials.astype(np.float64))
    impossible = (responses.correct < 0) | (responses.correct > responses.trials)
    if impossible.any():
        respondent, item = np.argwhere(impossible)[0]
        raise InputError(
            f"respondent {respondent}, item {item}: {correct[respondent, item]} correct of "
            f"{trials[respondent, item]} trials is no count ({impossible.sum()} such cells)"
        )
    unanswered = np.flatnonzero(trials.sum(axis=0) == 0)
    if len(unanswered):
        raise InputError(
            f"{len(unanswered)} items without an answer, the first at index {unanswered[0]}: "
            "leave them out, or their difficulty would be the prior's"
        )
    if correct.sum() in (0, trials.sum()):
        raise InputError(
            f"every answer is {'correct' if correct.any() else 'wrong'}: "
            "the items' mean difficulty has no finite estimate"
        )
    return responses


def _log_prior(parameters: FloatArray) -> float:
    log_discrimination, difficulty = parameters
    spread = difficulty - difficulty.mean()
    constant = np.log(2 * np.pi * LOG_DISCRIMINATION_SD * DIFFICULTY_SD)
    return float(
        -np.sum(log_discrimination**2) / (2 * LOG_DISCRIMINATION_SD**2)
        - np.sum(spread**2) / (2 * DIFFICULTY_SD**2)
        - len(difficulty) * constant
    )


def _log_prior_gradient(parameters: FloatArray) -> FloatArray:
    log_discrimination, difficulty = parameters
    return np.stack(
        [
            -log_discrimination / LOG_DISCRIMINATION_SD**2,
            -(difficulty - difficulty.mean()) / DIFFICULTY_SD**2,
        ]
    )


def _blocks(responses: _Responses, nodes: int) -> Iterator[slice]:
    respondents, items = responses.correct.shape
    size = max(1, _BLOCK_ELEMENTS // (nodes * items))
    for start in range(0, respondents, size):
        yield slice(start, min(start + size, respondents))


def _mode(
    responses: _Responses, rows: slice, parameters: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mode of each ability's posterior and the scale that its curvature gives.

    The log posterior is concave, so Newton's steps are kept inside the bracket that the gradient's
    sign narrows, and halved by bisection where they leave it.
    """
    correct, trials = responses.correct[rows], responses.trials[rows]
    discrimination, difficulty = np.exp(parameters[0]), parameters[1]
    weighted = trials * discrimination
    right = correct @ discrimination
    # At the mode, ability = sum of a (correct - expected), which these bound.
    low, high = right - weighted.sum(axis=1), right
    ability = np.clip(start, low, high)
    for _ in range(100):
        probability = expit(discrimination * (ability[:, None] - difficulty))
        gradient = right - np.einsum("ij,ij->i", weighted, probability) - ability
        curvature = 1 + (weighted * probability * (1 - probability)) @ discrimination
        low = np.where(gradient >= 0, ability, low)
        high = np.where(gradient <= 0, ability, high)
        moved = ability + gradient / curvature
        moved = np.where((moved < low) | (moved > high), (low + high) / 2, moved)
        # Far below the posterior's own scale, so that the nodes do not depend on the start.
        if np.all(np.abs(moved - ability) * np.sqrt(curvature) <= 1e-7):
            break
        ability = moved
    return ability, 1 / np.sqrt(curvature)


def _posteriors(
    responses: _Responses, parameters: FloatArray, rule: _Rule, start: FloatArray
) -> Iterator[tuple[_Posterior, FloatArray]]:
    """Yields each block's posterior and the modes around which its nodes lie."""
    discrimination, difficulty = np.exp(parameters[0]), parameters[1]
    for rows in _blocks(responses, len(rule.nodes)):
        correct, trials = responses.correct[rows], responses.trials[rows]
        mode, scale = _mode(responses, rows, parameters, start[rows])
        ability = mode[:, None] + scale[:, None] * rule.nodes
        # exp(-logit), bounded so that it stays finite; 1 - p is then p exp(-logit), which keeps the
        # log of 1 - p exact at both ends without a second transcendental function.
        odds_wrong = discrimination * (difficulty - ability[:, :, None])
        np.minimum(odds_wrong, 500, out=odds_wrong)
        np.exp(odds_wrong, out=odds_wrong)
        probability = 1 / (1 + odds_wrong)
        log_right = np.log(probability, out=odds_wrong)
        wrong = trials - correct
        log_joint = (
            (wrong @ (discrimination * difficulty))[:, None]
            - ability * (wrong @ discrimination)[:, None]
            + np.matmul(log_right, trials[:, :, None])[:, :, 0]
            - (ability**2 + np.log(2 * np.pi)) / 2
            + np.log(scale)[:, None]
            + rule.log_weights
        )
        largest = log_joint.max(axis=1, keepdims=True)
        weights = np.exp(log_joint - largest)
        total = weights.sum(axis=1, keepdims=True)
        log_likelihood = float(np.sum(largest + np.log(total)))
        yield _Posterior(rows, ability, weights / total, log_likelihood, probability), mode


def _expect(
    responses: _Responses, parameters: FloatArray, rule: _Rule, start: FloatArray
) -> _Expectation:
    """E-step: `start` holds the modes of the step before, from which the new ones are near."""
    discrimination, difficulty = np.exp(parameters[0]), parameters[1]
    respondents, items = responses.correct.shape
    log_likelihood = 0.0
    ability, variance, mode = np.empty(respondents), np.empty(respondents), np.empty(respondents)
    expected = np.zeros((2, items))  # sum of trials x p x (1, ability)
    spread = np.zeros((3, items))  # sum of trials x p (1 - p) x (1, ability, ability^2)
    for block, block_mode in _posteriors(responses, parameters, rule, start):
        rows, trials = block.rows, responses.trials[block.rows]
        moments = np.stack([block.weights * block.ability**power for power in range(3)], axis=1)
        ability[rows] = moments[:, 1].sum(axis=1)
        variance[rows] = np.sum(block.weights * (block.ability - ability[rows, None]) ** 2, axis=1)
        mode[rows] = block_mode
        log_likelihood += block.log_likelihood
        probability = block.probability
        expected += np.einsum("ij,imj->mj", trials, moments[:, :2] @ probability)
        spread += np.einsum("ij,imj->mj", trials, moments @ (probability * (1 - probability)))
    observed = np.stack([responses.correct.sum(axis=0), ability @ responses.correct])
    residual = observed - expected
    gradient = np.stack(
        [discrimination * (residual[1] - difficulty * residual[0]), -discrimination * residual[0]]
    )
    information = discrimination**2 * np.stack(
        [
            spread[2] - 2 * difficulty * spread[1] + difficulty**2 * spread[0],
            difficulty * spread[0] - spread[1],
            spread[0],
        ]
    )
    return _Expectation(log_likelihood, gradient, information, ability, variance, mode)


def _maximise(expectation: _Expectation, parameters: FloatArray) -> FloatArray:
    """M-step: Fisher scoring by item, then the population's mean and variance mapped into them."""
    gradient = expectation.gradient + _log_prior_gradient(parameters)
    along_a, across, along_b = expectation.information
    along_a = along_a + 1 / LOG_DISCRIMINATION_SD**2
    along_b = along_b + 1 / DIFFICULTY_SD**2
    step = np.stack(
        [
            along_b * gradient[0] - across * gradient[1],
            along_a * gradient[1] - across * gradient[0],
        ]
    ) / (along_a * along_b - across**2)
    step /= np.maximum(1, (np.abs(step) / _LARGEST_STEP).max(axis=0))
    log_discrimination, difficulty = parameters + step

    mean = expectation.ability.mean()
    log_scale = _log_scale(
        respondents=len(expectation.ability),
        squares=float(
            np.sum(expectation.ability_variance + (expectation.ability - mean) ** 2)
            + np.sum((difficulty - difficulty.mean()) ** 2) / DIFFICULTY_SD**2
        ),
        log_discrimination=log_discrimination,
    )
    return np.stack([log_discrimination + log_scale, (difficulty - mean) * np.exp(-log_scale)])


def _log_scale(*, respondents: int, squares: float, log_discrimination: FloatArray) -> float:
    """Log of the population's standard deviation, as the abilities and the priors want it.

    Maximises -respondents s - squares exp(-2 s) / 2 - sum (log a + s)^2 / (2 sd^2), concave in s.
    """
    precision = 1 / LOG_DISCRIMINATION_SD**2
    scale = 0.0
    for _ in range(50):
        shrunk = squares * np.exp(-2 * scale)
        slope = -respondents + shrunk - precision * np.sum(log_discrimination + scale)
        step = float(slope / (2 * shrunk + precision * len(log_discrimination)))
        scale += min(max(step, -0.5), 0.5)
        if abs(step) < 1e-10:
            break
    return scale


def _standard_errors(
    responses: _Responses, parameters: FloatArray, rule: _Rule, expectation: _Expectation
) -> FloatArray:
    """Standard errors of (log a, b) from the inverse of the observed information.

    Louis's identity: observed = complete-data information - variance of the complete-data score
    given the answers. The score is linear in the answers' residuals, so its variance is a
    covariance over each respondent's nodes, and couples all items through the shared abilities.
    """
    discrimination, difficulty = np.exp(parameters[0]), parameters[1]
    items = len(difficulty)
    along_a, across, along_b = expectation.information
    diagonal = np.arange(items)
    information = np.zeros((2 * items, 2 * items))
    # The gradient's terms turn the expected complete-data information into the observed one.
    information[diagonal, diagonal] = (
        along_a - expectation.gradient[0] + 1 / LOG_DISCRIMINATION_SD**2
    )
    information[items + diagonal, diagonal] = across - expectation.gradient[1]
    information[diagonal, items + diagonal] = across - expectation.gradient[1]
    information[items + diagonal, items + diagonal] = along_b + 1 / DIFFICULTY_SD**2
    information[items:, items:] -= 1 / (items * DIFFICULTY_SD**2)  # m is free
    for block, _ in _posteriors(responses, parameters, rule, expectation.mode):
        correct, trials = responses.correct[block.rows], responses.trials[block.rows]
        residual = discrimination * (correct[:, None, :] - trials[:, None, :] * block.probability)
        score = np.concatenate(
            [residual * (block.ability[:, :, None] - difficulty), -residual], axis=2
        )
        score -= np.matmul(block.weights[:, None, :], score)
        score *= np.sqrt(block.weights)[:, :, None]
        rows = score.reshape(-1, 2 * items)
        information -= rows.T @ rows
    try:
        root = np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return np.full((2, items), np.nan)
    inverse = solve_triangular(root, np.eye(2 * items), lower=True)
    errors: FloatArray = np.sqrt(np.sum(inverse**2, axis=0)).reshape(2, items)
    return errors
