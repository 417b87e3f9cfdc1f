import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize, stats
from scipy.integrate import quad
from scipy.special import expit, logit

from thinkprior.errors import InputError
from thinkprior.item_response import (
    ItemBank,
    fit_two_parameter,
    log_posterior,
    response_probability,
    sharpen,
    shuffled_control,
)

FloatArray = npt.NDArray[np.float64]
IntegerArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Simulation:
    correct: IntegerArray
    trials: IntegerArray
    ability: FloatArray
    discrimination: FloatArray
    difficulty: FloatArray


def simulate(
    respondents: int, items: int, *, seed: int, trials: int = 1, missing: float = 0.0
) -> Simulation:
    generator = np.random.default_rng(seed)
    ability = generator.normal(size=respondents)
    difficulty = generator.normal(0.5, 1.2, items)
    discrimination = np.exp(generator.normal(0, 0.3, items))
    answers = np.where(generator.random((respondents, items)) < missing, 0, trials)
    probability = expit(discrimination * (ability[:, None] - difficulty))
    correct = generator.binomial(answers, probability)
    return Simulation(correct, answers, ability, discrimination, difficulty)


def rmse(estimate: FloatArray, truth: FloatArray) -> float:
    return float(np.sqrt(np.mean((estimate - truth) ** 2)))


def spearman(estimate: FloatArray, truth: FloatArray) -> float:
    return float(stats.spearmanr(estimate, truth).statistic)


def item_logit(simulation: Simulation) -> FloatArray:
    """Difficulty without a model: the negative logit of the share correct, with half an answer."""
    right, answers = simulation.correct.sum(axis=0), simulation.trials.sum(axis=0)
    return np.asarray(-logit((right + 0.5) / (answers + 1)), dtype=np.float64)


def log_prior(discrimination: FloatArray, difficulty: FloatArray) -> float:
    return float(
        stats.norm.logpdf(np.log(discrimination), 0, 0.5).sum()
        + stats.norm.logpdf(difficulty, difficulty.mean(), 1.5).sum()
    )


@pytest.fixture(scope="module")
def large() -> tuple[Simulation, ItemBank]:
    simulation = simulate(500, 250, seed=1)
    return simulation, fit_two_parameter(simulation.correct, simulation.trials)


def test_recovery_with_500_respondents(large: tuple[Simulation, ItemBank]) -> None:
    # Measured for such fits: Spearman .99 and RMSE .17 to .22, the item logit .97-.98 and .32-.44.
    simulation, bank = large
    assert bank.report.converged
    assert spearman(bank.difficulty, simulation.difficulty) > 0.985
    assert rmse(bank.difficulty, simulation.difficulty) < 0.25
    assert spearman(bank.discrimination, simulation.discrimination) > 0.8
    assert np.corrcoef(bank.ability, simulation.ability)[0, 1] > 0.98


def test_the_item_logit_is_the_floor(large: tuple[Simulation, ItemBank]) -> None:
    simulation, bank = large
    floor = item_logit(simulation)
    assert spearman(bank.difficulty, simulation.difficulty) > spearman(floor, simulation.difficulty)
    assert rmse(bank.difficulty, simulation.difficulty) < rmse(floor, simulation.difficulty)


def test_recovery_with_40_respondents() -> None:
    # Measured: Spearman .92 to .94 and RMSE .44 to .50, hardly more than the item logit's.
    ranks, errors, floors = [], [], []
    for seed in range(5):
        simulation = simulate(40, 250, seed=seed)
        bank = fit_two_parameter(simulation.correct, simulation.trials)
        assert bank.report.iterations <= 15  # 9 to 11; some 25 without acceleration, which is slow
        ranks.append(spearman(bank.difficulty, simulation.difficulty))
        errors.append(rmse(bank.difficulty, simulation.difficulty))
        floors.append(spearman(item_logit(simulation), simulation.difficulty))
    assert np.mean(ranks) > 0.91
    assert np.mean(errors) < 0.50
    assert np.mean(ranks) > np.mean(floors) - 0.01


def test_several_answers_a_cell_recover_more_than_one() -> None:
    once, often = simulate(40, 100, seed=2), simulate(40, 100, seed=2, trials=16)
    np.testing.assert_array_equal(once.difficulty, often.difficulty)
    single = fit_two_parameter(once.correct, once.trials)
    several = fit_two_parameter(often.correct, often.trials)
    assert rmse(several.difficulty, often.difficulty) < 0.6 * rmse(
        single.difficulty, once.difficulty
    )


@pytest.mark.parametrize(("respondents", "seconds"), [(40, 0.5), (500, 3.0)])
def test_fits_are_fast(respondents: int, seconds: float) -> None:
    # Measured on one idle thread: 0.07 and 0.4 s. The bound leaves room for a loaded machine.
    simulation = simulate(respondents, 250, seed=3)
    start = time.process_time()
    fit_two_parameter(simulation.correct, simulation.trials)
    assert time.process_time() - start < seconds


def test_the_log_posterior_is_the_integral_over_abilities() -> None:
    # Two items, answered several times by some, not at all by others; answer by answer.
    correct = np.array([[1, 0], [3, 2], [0, 0], [2, 5], [0, 1]])
    trials = np.array([[1, 1], [4, 2], [0, 3], [2, 5], [0, 1]])
    discrimination, difficulty = np.array([0.7, 1.9]), np.array([-0.4, 1.1])
    expected = log_prior(discrimination, difficulty)
    for rights, answers in zip(correct, trials, strict=True):

        def integrand(
            ability: float, rights: IntegerArray = rights, answers: IntegerArray = answers
        ) -> float:
            density = float(stats.norm.pdf(ability))
            for item in range(2):
                p = 1 / (1 + np.exp(-discrimination[item] * (ability - difficulty[item])))
                for answer in range(answers[item]):
                    density *= p if answer < rights[item] else 1 - p
            return density

        expected += np.log(quad(integrand, -12, 12, epsabs=1e-14, epsrel=1e-12, limit=200)[0])
    value, *_ = log_posterior(correct, trials, discrimination, difficulty, nodes=41)
    assert value == pytest.approx(expected, abs=1e-8)
    coarse, *_ = log_posterior(correct, trials, discrimination, difficulty)
    assert coarse == pytest.approx(expected, abs=1e-4)


def test_the_gradient_agrees_with_numerical_differentiation() -> None:
    simulation = simulate(12, 4, seed=5, trials=2, missing=0.2)
    parameters = np.concatenate(
        [np.log(simulation.discrimination) + 0.2, simulation.difficulty - 0.3]
    )

    def value(parameters: FloatArray) -> float:
        return log_posterior(
            simulation.correct,
            simulation.trials,
            np.exp(parameters[:4]),
            parameters[4:],
            nodes=61,
        )[0]

    _, by_log_discrimination, by_difficulty = log_posterior(
        simulation.correct,
        simulation.trials,
        np.exp(parameters[:4]),
        parameters[4:],
        nodes=61,
    )
    numeric = [
        (value(parameters + step) - value(parameters - step)) / 2e-5 for step in 1e-5 * np.eye(8)
    ]
    analytic = np.concatenate([by_log_discrimination, by_difficulty])
    np.testing.assert_allclose(analytic, numeric, atol=2e-6)


def dense_objective(simulation: Simulation) -> Callable[[FloatArray], float]:
    """The negative log posterior by the trapezoid rule on a dense grid, written apart."""
    grid = np.linspace(-9, 9, 1201)
    log_density = stats.norm.logpdf(grid) + np.log(grid[1] - grid[0])

    def objective(parameters: FloatArray) -> float:
        log_discrimination, difficulty = np.split(parameters, 2)
        logits = np.exp(log_discrimination) * (grid[:, None] - difficulty)
        joint = (
            simulation.correct @ logits.T
            - simulation.trials @ np.logaddexp(0, logits).T
            + log_density
        )
        likelihood = np.logaddexp.reduce(joint, axis=1).sum()
        return -float(likelihood + log_prior(np.exp(log_discrimination), difficulty))

    return objective


def test_the_fit_and_its_errors_agree_with_a_general_optimiser_on_a_dense_grid() -> None:
    simulation = simulate(60, 3, seed=6, trials=3, missing=0.1)
    bank = fit_two_parameter(simulation.correct, simulation.trials, nodes=41, tolerance=1e-8)
    objective = dense_objective(simulation)
    best = optimize.minimize(objective, np.zeros(6), method="BFGS", options={"gtol": 1e-4})
    np.testing.assert_allclose(np.log(bank.discrimination), best.x[:3], atol=1e-3)
    np.testing.assert_allclose(bank.difficulty, best.x[3:], atol=1e-3)
    assert bank.report.log_posterior == pytest.approx(-best.fun, abs=1e-5)

    # Observed information by second differences of the dense objective.
    steps = 1e-3 * np.eye(6)
    at = np.concatenate([np.log(bank.discrimination), bank.difficulty])
    information = np.array(
        [
            [
                objective(at + i + j)
                - objective(at + i - j)
                - objective(at - i + j)
                + objective(at - i - j)
                for i in steps
            ]
            for j in steps
        ]
    ) / (4 * 1e-6)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(
        bank.discrimination_error / bank.discrimination, errors[:3], rtol=1e-3
    )
    np.testing.assert_allclose(bank.difficulty_error, errors[3:], rtol=1e-3)


def test_the_fit_is_stationary(large: tuple[Simulation, ItemBank]) -> None:
    simulation, bank = large
    value, *gradient = log_posterior(
        simulation.correct, simulation.trials, bank.discrimination, bank.difficulty
    )
    assert value == pytest.approx(bank.report.log_posterior, rel=1e-12)
    # In units of the parameters: the gradient times the squared standard error.
    assert np.abs(gradient[1] * bank.difficulty_error**2).max() < 1e-3


def by_chance(respondents: int, items: int, trials: int) -> tuple[IntegerArray, IntegerArray]:
    """Cells that are nearly always all right or all wrong and follow no 2PL model."""
    generator = np.random.default_rng(0)
    shape = (respondents, items)
    correct = generator.binomial(trials, generator.choice([0, 0.01, 0.5, 0.99, 1], shape))
    return correct, np.full(shape, trials)


@pytest.mark.parametrize("well_behaved", [True, False])
def test_every_iteration_raises_the_log_posterior(well_behaved: bool) -> None:
    # Without the check on each step, acceleration loses tens of units on the second matrix.
    simulation = simulate(100, 20, seed=7)
    matrix = (simulation.correct, simulation.trials) if well_behaved else by_chance(20, 8, 30)
    right, answers = matrix[0].sum(axis=0), matrix[1].sum(axis=0)
    start, *_ = log_posterior(
        *matrix, np.ones(len(right)), -logit((right + 0.5) / (answers + 1)), nodes=41
    )
    traced = [start]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for iterations in range(1, 13):
            bank = fit_two_parameter(*matrix, nodes=41, max_iterations=iterations, tolerance=1e-12)
            assert bank.report.iterations == iterations
            traced.append(bank.report.log_posterior)
    assert np.all(np.diff(traced) > -1e-9)
    assert traced[-1] > start + 1


def test_intervals_cover_the_truth_at_about_their_nominal_rate() -> None:
    covered_difficulty, covered_discrimination, covered_ability = [], [], []
    for seed in range(12):
        simulation = simulate(1000, 15, seed=100 + seed)
        bank = fit_two_parameter(simulation.correct, simulation.trials)
        error = np.abs(bank.difficulty - simulation.difficulty)
        covered_difficulty.append(error < 1.96 * bank.difficulty_error)
        error = np.abs(np.log(bank.discrimination / simulation.discrimination))
        covered_discrimination.append(
            error < 1.96 * bank.discrimination_error / bank.discrimination
        )
        covered_ability.append(
            np.abs(bank.ability - simulation.ability) < 1.96 * bank.ability_error
        )
    # 180 intervals, of which those of a simulation share the scale's error.
    assert 0.91 < np.mean(covered_difficulty) < 0.99
    assert 0.91 < np.mean(covered_discrimination) < 0.99
    assert 0.94 < np.mean(covered_ability) < 0.96


def test_abilities_are_resolved_on_a_long_test_of_many_answers() -> None:
    # Nodes shared by all respondents would snap abilities to a lattice of half a unit here.
    simulation = simulate(20, 200, seed=8, trials=16)
    bank = fit_two_parameter(simulation.correct, simulation.trials)
    assert np.all((bank.ability_error > 0.01) & (bank.ability_error < 0.1))
    line = np.polynomial.Polynomial.fit(simulation.ability, bank.ability, 1)
    assert rmse(line(simulation.ability), bank.ability) < 0.06


def test_items_at_the_extremes_are_finite_and_uncertain() -> None:
    simulation = simulate(40, 50, seed=9, trials=2)
    correct = simulation.correct.copy()
    correct[:, 0], correct[:, 1] = 2, 0
    bank = fit_two_parameter(correct, simulation.trials)
    right, wrong = correct.sum(axis=0) == 80, correct.sum(axis=0) == 0
    assert (bank.report.all_right, bank.report.all_wrong) == (right.sum(), wrong.sum())
    assert bank.report.all_right >= 1
    assert bank.report.all_wrong >= 1
    assert bank.report.converged
    assert np.all(np.isfinite(bank.difficulty_error))
    assert bank.difficulty[0] == bank.difficulty[right].min() == bank.difficulty.min()
    assert bank.difficulty[1] == bank.difficulty.max()
    assert bank.difficulty_error[:2].min() > 2 * np.median(bank.difficulty_error)


def test_shuffling_keeps_the_items_and_the_cells() -> None:
    simulation = simulate(30, 12, seed=10, trials=3, missing=0.3)
    correct, trials = shuffled_control(
        simulation.correct, simulation.trials, np.random.default_rng(1)
    )
    for item in range(12):
        before = zip(simulation.correct[:, item], simulation.trials[:, item], strict=True)
        assert sorted(before) == sorted(zip(correct[:, item], trials[:, item], strict=True))
    assert not np.array_equal(trials, simulation.trials)


@pytest.mark.parametrize(("respondents", "items"), [(1000, 20), (40, 250)])
def test_a_shuffled_matrix_collapses_discrimination(respondents: int, items: int) -> None:
    simulation = simulate(respondents, items, seed=11)
    shuffled = shuffled_control(simulation.correct, simulation.trials, np.random.default_rng(2))
    true, control = (
        fit_two_parameter(simulation.correct, simulation.trials),
        fit_two_parameter(*shuffled),
    )
    assert np.median(control.discrimination) * control.ability.std() < 0.4 * (
        np.median(true.discrimination) * true.ability.std()
    )
    if respondents > items:  # elsewhere the priors hold the scale, and the abilities collapse
        assert np.median(control.discrimination) < 0.65 * np.median(true.discrimination)


def test_the_order_of_respondents_does_not_matter() -> None:
    simulation = simulate(50, 20, seed=12, trials=2, missing=0.2)
    order = np.random.default_rng(3).permutation(50)
    bank = fit_two_parameter(simulation.correct, simulation.trials)
    permuted = fit_two_parameter(simulation.correct[order], simulation.trials[order])
    np.testing.assert_allclose(permuted.difficulty, bank.difficulty, atol=1e-7)
    np.testing.assert_allclose(permuted.ability, bank.ability[order], atol=1e-7)


def test_splitting_a_cells_answers_changes_no_likelihood() -> None:
    # Two answers a cell, or the same as two columns of one answer with the same parameters.
    simulation = simulate(20, 6, seed=13, trials=2)
    first = np.minimum(simulation.correct, 1)
    split = np.concatenate([first, simulation.correct - first], axis=1)
    items = (simulation.discrimination, simulation.difficulty)
    twice = (np.tile(items[0], 2), np.tile(items[1], 2))
    whole, *_ = log_posterior(simulation.correct, simulation.trials, *items)
    parts, *_ = log_posterior(split, np.ones_like(split), *twice)
    assert parts - log_prior(*twice) == pytest.approx(whole - log_prior(*items), rel=1e-12)


def test_a_matrix_may_come_as_booleans() -> None:
    simulation = simulate(30, 5, seed=14)
    bank = fit_two_parameter(simulation.correct, simulation.trials)
    boolean = fit_two_parameter(simulation.correct.astype(bool), simulation.trials.astype(bool))
    np.testing.assert_array_equal(boolean.difficulty, bank.difficulty)


def test_a_respondent_without_answers_is_one_of_the_population() -> None:
    simulation = simulate(30, 8, seed=15)
    trials = simulation.trials.copy()
    trials[0] = 0
    bank = fit_two_parameter(simulation.correct * trials, trials)
    assert bank.ability[0] == pytest.approx(0, abs=1e-9)
    assert bank.ability_error[0] == pytest.approx(1, abs=1e-9)


def test_a_fit_cut_short_says_so() -> None:
    simulation = simulate(30, 8, seed=16)
    with pytest.warns(RuntimeWarning, match="not converged.*after 2 iterations"):
        bank = fit_two_parameter(simulation.correct, simulation.trials, max_iterations=2)
    assert not bank.report.converged
    assert bank.report.change > 1e-4


def test_response_probability_by_hand() -> None:
    probability = response_probability(np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, -2.0]))
    np.testing.assert_allclose(probability, [0.5, 1 / (1 + np.e**2), 1 / (1 + 1 / np.e)])
    assert response_probability(np.array([2.0]), np.array([1.0]), ability=1.0)[0] == 0.5


def test_sharpening_squares_the_odds() -> None:
    sharpened = sharpen(np.array([0.0, 0.2, 0.5, 0.75, 1.0]))
    np.testing.assert_allclose(sharpened, [0, 1 / 17, 0.5, 9 / 10, 1])
    np.testing.assert_allclose(sharpen(np.array([0.3]), factor=1.0), [0.3])


@pytest.mark.parametrize(("probability", "factor"), [(1.2, 2.0), (np.nan, 2.0), (0.5, 0.0)])
def test_sharpening_refuses_what_is_no_probability(probability: float, factor: float) -> None:
    with pytest.raises(InputError):
        sharpen(np.array([probability]), factor)


@pytest.mark.parametrize(
    ("correct", "trials", "message"),
    [
        ([[1, 0]], [[1, 1]], "at least 2 respondents"),
        ([[1, 0], [1, 1]], [[1, 1, 1], [1, 1, 1]], "shape"),
        ([1, 0], [1, 1], "respondents, items"),
        ([[1, 0], [2, 1]], [[1, 1], [1, 1]], "respondent 1, item 0: 2 correct of 1"),
        ([[1, 0], [0, -1]], [[1, 1], [1, 1]], "respondent 1, item 1: -1 correct of 1"),
        ([[1, 0], [0, 0]], [[1, 1], [1, -1]], "respondent 1, item 1: 0 correct of -1"),
        ([[1, 0], [0, 0]], [[1, 0], [1, 0]], "1 items without an answer, the first at index 1"),
        ([[1, 2], [1, 2]], [[1, 2], [1, 2]], "every answer is correct"),
        ([[0, 0], [0, 0]], [[1, 2], [1, 2]], "every answer is wrong"),
        ([[0.5, 0], [1, 0]], [[1, 1], [1, 1]], "integers"),
    ],
)
def test_matrices_that_cannot_be_fitted_are_refused(
    correct: list[list[int]], trials: list[list[int]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        fit_two_parameter(np.array(correct), np.array(trials))


def test_settings_out_of_range_are_refused() -> None:
    correct, trials = np.array([[1, 0], [0, 1]]), np.ones((2, 2), dtype=np.int64)
    with pytest.raises(InputError, match="nodes"):
        fit_two_parameter(correct, trials, nodes=2)
    with pytest.raises(InputError, match="max_iterations"):
        fit_two_parameter(correct, trials, max_iterations=0)
    with pytest.raises(InputError, match="2 items"):
        log_posterior(correct, trials, np.ones(3), np.zeros(3))
    with pytest.raises(InputError, match="positive"):
        log_posterior(correct, trials, np.zeros(2), np.zeros(2))
