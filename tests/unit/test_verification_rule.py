r"""The rule, pair by pair: what is the same answer, and what is not.

Each pair is judged twice: by the verifier as it is (exact arithmetic where that suffices) and by
math-verify in a worker alone. Truth is by hand; many pairs come from the tests and issues of
huggingface/Math-Verify, OpenBMB/OlympiadBench and hendrycks/math.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from thinkprior.verification import Verdict, Verifier, last_box
from thinkprior.verification.exact import decide
from thinkprior.verification.pool import WorkerPool

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

RIGHT = {
    "numbers": [
        ("7425000", "7,425,000"), ("1000", "1 000"), ("1000", "1000.0"), ("1000.99", "1,000.99"),
        ("32349", r"32,\! 349"), ("11,\\! 111,\\! 100", "11111100"), ("10{,}080", "10080"),
        ("2,125", "2125"), ("58,500", "58, 500"), ("5", "+5"), ("5", "05"), ("5", "5."),
        ("5", "5,"), ("5", "=5"), ("5", "{5}"), ("5", "(5)"), ("5", "$5$"), ("5", r"\(5\)"),
        ("5", r"\text{5}"), ("-5", "−5"), ("5", "５"), ("0", "-0"), ("0.4", ".4"),
        ("1000.99", "1000,99"), ("2.74", "2,74"), ("0,111", "0.111"), ("1e-8", "0.00000001"),
        ("1e-8", r"10^{-8}"), ("3.83e35", r"3.83 \times 10^{35}"), ("780", r"7.8\times 10^2"),
        ("-1./3", r"-\frac13"), (".0000672", r"6.72 \cdot 10^{-5}"),
        ("5000000", r"5 \text{ million}"), ("1024", "2^{10}"), ("120", "5!"), ("4", r"\sqrt{16}"),
        ("10", r"\binom{5}{2}"), (r"\log_2 8", "3"),
    ],
    "fractions": [
        ("10/9", r"\frac{10}{9}"), ("1/3", r"\frac13 "), ("1/3", r"\cfrac{1}{3}"),
        ("1", r"\frac3{3}"), ("3/4", "6/8"), ("0.6", r"\frac{3}{5}"), (r"1\frac{4}{5}", "1.8"),
        (r"-1\frac12", "-3/2"), ("40/9", "4 4/9"), (r"\frac{1}{3}", r"0.\overline{3}"),
        (r"\frac16", r"0.1\overline{6}"), (r"\frac{1}{3}", "0.333333"),
        (r"\frac{1}{12}", "0.0833333333333333"), ("½", r"\frac12"), ("12", r"\frac{84}{7}"),
        (r"\frac59", r"\frac 5 9"), ("3/4", "3∕4"),
    ],
    "expressions": [
        (r"\frac{9}{4}\pi", r"\frac94\pi"), (r"-2\pi", "-2*pi"), (r"12\pi", r"12 \cdot \pi"),
        (r"12\pi", "12π"), (r"\sqrt{17}", "4.123105625617661"),
        (r"10\sqrt{3} + \sqrt4", r"2+10\sqrt3"), (r"\sqrt{20}", r"2\sqrt5"),
        (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}"), (r"\frac{1}{1+\sqrt{2}}", r"\sqrt{2}-1"),
        (r"\sqrt{3+2\sqrt{2}}", r"1+\sqrt{2}"),
        (r"\sqrt[3]{\frac{5}{12}}", r"(\frac{5}{12})^{\frac{1}{3}}"), ("14 - i", "14.0 - 1.0i"),
        ("2i", "(1+i)^2"), (r"\frac{x+2}{7}", r"\frac{x}{7}+\frac{2}{7}"), ("x", r"\frac{2x}{2}"),
        (r"(x-2)(x+2)", "x^2-4"), (r"\frac{n(n+1)}{2}", r"\frac{n^2+n}{2}"), ("x^2", "x²"),
        (r"\frac{(n-1)!}{k!} \frac{n}{(n-k)!}", r"\frac{n!}{k!(n-k)!}"),
        ("e^{16} - 1", "-1 + exp(16)"), (r"\tan^2(y)+1", r"\sec^2(y)"),
        (r"1 - \frac{1}{\mathrm{e}}", r"1 - \frac{1}{e}"), (r"\sqrt{1/n}", r"\frac{1}{\sqrt{n}}"),
        ("np.arcsin(10/13)", r"\sin^{-1}(10/13)"),
        (r"\frac{1}{2a}(\exp{a*t} - \exp{-a*t})", r"\frac{e^{at}-e^{-at}}{2a}"), ("x**2", "x^2"),
        (r"y^{\prime}+ry", "ry+y'"), ("E_{1}", r"E_1"), (r"|x|", r"\left|x\right|"),
        (r"10^{10^{10}}", r"10^{10^{10}}"),
    ],
    "units": [
        (r"15\mbox{ cm}^2", "15"), ("15", r"15\text{ cm}^2"), (r"5 \text{ cm}", "5 centimeters"),
        ("15 m", "15 meters"), ("15 m", "15"), ("15", "15 m"), ("15", "15m"), ("5", "5 apples"),
        (r"864 \mbox{ inches}^2", r"864 \text{ square inches}"), (r"10\text{ units}", "10"),
        (r"\frac{1}{3}", r"\frac{1}{3} \textbf{meters}"), ("0.64N", r"\frac{16}{25}N"),
        (r"60 \text{ km/h}", "60 km/h"), ("10", r"\$10"), (r"\$36", "36 dollars"),
        (r"\$18.90", "18.9"), ("1000.99", "1,000.99€"), (r"90^\circ", "90"),
        (r"90^\circ", r"90 \text{ degrees}"), (r"120^\circ", "120°"),
        (r"(45^{\circ}, 60^{\circ})", "(45,60)"), (r"5\text{ min}", "5 min"),
    ],
    "percentages": [
        (r"28\%", "28 percent"), (r"28\%", "28 pct"), (r"28\%", "28"), (r"28\%", "0.28"),
        ("28", r"28\%"), ("62.5%", r"\frac{5}{8}"), ("62.5%", "62.5"), ("0.6", r"60\%"),
    ],
    "several values": [
        ("1,-2", "-2,1"), ("1,-2", r"\{-2,1\}"), ("1,-2", "(1,-2)"), ("1,2", r"1 \text{ or } 2"),
        (r"21,16 \text{ or } 11", "21,16,11"), ("-12;-11", r"\{-12, -11\}"),
        ("19, 46, and 82", "82,46,19"), ("3, 5, 7", r"3,5 \text{ and } 7"),
        (r"12\text{ and }13", "12 $ and $ 13"), (r"3 \pm 2\sqrt{2}", r"3+2\sqrt{2}, 3-2\sqrt{2}"),
        (r"\pm 5", "5,-5"), ("(1,3)", "{1,3}"),
        (r"\{1\pm\sqrt{5},-2\}", r"\{-2, 1+\sqrt{5}, 1-\sqrt{5}\}"), ("(2,1),(3,1)", "(3,1),(2,1)"),
        ("(11,7)or(7,11)", r"(7,11),\ (11,7)"), ("-10,-8,4", r"a=4,\,-8,\,-10"),
        (r"\left( 3, \frac{\pi}{2} \right)", r"(3, \frac{\pi}{2})"), ("(0;0;0)", "(0,0,0)"),
        ("(6,31,-1)", "(p,q,r) = (6,31,-1)"), ("AB=4,CD=5", "4, 5"), ("x=2,y=3", "y=3,x=2"),
        ("p=5,q=2;p=7,q=2", "(5,2),(7,2)"), ("x=2,y=3", "(2,3)"), ("E_{1},E_{2}", "E_2, E_1"),
    ],
    "intervals": [
        ("[-4/2, 0.5]", r"[-2, \frac{1}{2}]"), ("(3,4]", r"\left(3,4\right]"),
        (r"x<3", r"(-\infty, 3)"), (r"-2 \le x \le 7", r"x \in [-2,7]"),
        (r"x \in [-2,7]", r"-2 \le x \le 7"), ("0<f(x)<1", "(0,1)"),
        (r"(-\infty,1]\cup[10,+\infty)", r"c \in [10,\infty)\cup(-\infty, 1]"),
        ("[1,3]", r"[1,2]\cup[2,3]"), (r"\emptyset", r"\varnothing"),
    ],
    "relations": [
        ("x = 11", "x = 5+5+1 = 7 =11"), ("1/3", r"x=1/3\approx1.3"), ("11", r"x\approx11"),
        ("x=5", "5"), ("5", "x = 5"), ("5", "7-2=5"), ("a_{n}=2n+1", "2n+1"),
        ("P(x) = 1", "p(x) = 1"),
        (r"I_{\max}=\frac{q_{0}}{\sqrt{2 L C}}", r"\frac{q_{0}}{\sqrt{2 C L}}"),
        ("x < 1", "-x > -1"), (r"\frac{NO}{BO}=\frac{1}{\sqrt{6}}", r"\frac{1}{\sqrt{6}}"),
        ("7:32", "S_{MBCN}:S=7:32"), (r"x \leq 5", r"5 \geq x"), ("x != 3", r"x \neq 3"),
        ("x^2+y^2=1", "x^{2}=1-y^2"),
        (r"\frac{x^2}{4} + \frac{y^2}{3} = 1", r"\frac{x^2}{16} + \frac{y^2}{12} = \frac{1}{4}"),
        ("y=2x+3", "2x - y + 3 = 0"), ("2x+4y-3=0", r"y=-\frac{1}{2}x+\frac{3}{4}"),
    ],
    "others": [
        (r"\text{odd}", "odd"), (r"\text{(C)}", "C"), (r"\text{C}", r"\text{(C)}"), ("C", "C."),
        (r"\text{yes}", "Yes"), (r"\text{ellipse}", r"\text{an ellipse}"), ("52_8", "52_{8}"),
        ("52_8", "52"),
        (r"\begin{bmatrix}0 & 0\end{bmatrix}", r"\begin{pmatrix}0 & 0\end{pmatrix}"),
        (
            r"\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}",
            r"\begin{pmatrix} 0.2 \\ -3.6 \end{pmatrix}",
        ),
        (r"\begin{pmatrix}1 & 2\end{pmatrix}", r"\left[\begin{array}{cc}1 & 2\end{array}\right]"),
        (r"\begin{pmatrix}-\sin(x)\\1\\\end{pmatrix}", r"\begin{pmatrix}-\sin(x)\\1\end{pmatrix}"),
    ],
}  # fmt: skip

WRONG = {
    "numbers": [
        ("32349", "32, 349"), ("2,125", "2.125"), ("58,500", "58,501"), ("-73", "73"), ("5", "5,6"),
        ("5", "5x"), ("5", r"5\pi"), ("5", "The 5"), ("5", r"\text{five}"), ("5", "5 or 6"),
        ("5", "(5,6)"), ("5", "5 million"), ("4", "4 4/9"), ("2", "2^{10}"), ("5", "--5"),
        ("5", "5 5"), ("5", "1-"), ("3/4", "3/"), ("5", ""), ("5", "5)"), ("5", "5="),
        ("5", "5.5.5"), ("3/2", r"3\frac12"),
    ],
    "very small and very large numbers": [
        ("0", "1e-8"), ("1e-8", "0"), ("1e-8", "2e-8"), (r"10^{-10}", r"2\cdot 10^{-10}"),
        (r"\frac{1}{2004!}", r"\frac{1}{2006!}"), (r"\frac{1}{2^{99}}", r"\frac{1}{2^{98}}"),
        (r"\frac{2^{2005}+1}{3 \cdot 2^{2006}}", r"\frac{1}{3 \cdot 2^{2006}}"),
        ("e^{-50}", "e^{-51}"), (r"\sin(10^{-20})", r"\sin(10^{-21})"),
        (r"7 \times 10^{35}", r"7.1 \cdot 10^{35}"), ("10^{10^{10^{10}}}", "10^{10}"),
        ("10^{10^{10}}", "10^{10^{11}}"), ("9", "9**9**9"),
        ("5", r"\dfrac{5^{\left(5^{\left(5^{\left(5^5\right)}\right)} - 4\right)} - 5}{16}"),
    ],
    "rounding": [
        (r"\frac{1}{3}", "0.333"), (r"\frac{1}{3}", "0.333334"), ("3.14159265", "3.14159266"),
        (r"\pi", "3.14"), (r"12\pi", "37.7"), (r"\sqrt{2}", "1.414"),
    ],
    "restatements": [
        ("5", "7 - 2"), ("5", "(7-2)"), ("5", "x=7-2"), ("12", r"3 \times 4"), ("12", "3*4"),
        ("12", "84/7"), ("12", r"84 \div 7"), (r"12\pi", r"3 \cdot 4\pi"), (r"12\pi", r"4\pi+8\pi"),
        ("3/4", "1/2+1/4"), ("5", r"\frac{10-5}{1}"), ("10", "2(5)"), ("10", r"\sum_{k=1}^{4} k"),
        ("2", r"\int_0^2 x dx"), ("6", r"\gcd(12,18)"), ("2", r"5 \bmod 3"),
        ("5", r"\lfloor 5.5 \rfloor"), ("5", "|-5|"), ("5", r"7 - 2 \text{ cm}"),
        (r"3+\sqrt{2}", r"1+2+\sqrt2"), ("x=5", "2x=10"),
    ],
    "expressions": [
        ("4", r"4\sqrt{2}"), ("4", r"4\sqrt(2)"),
        (r"1 - \frac{1}{\mathrm{e}}", r"1 + \frac{1}{\mathrm{e}}"), ("(a+5)(b+2)", "(+5)(b+2)"),
        ("x+2n+1", "x+1"), (r"1\sqrt{19}", "1"), ("6-5i", "6+5i"), (r"\ln 2", r"\log 2"),
        (r"\cot x", r"\tan x"), ("x", "y"), ("y'", "y"), ("12:00", "1:00"),
        (r"\tfrac{1}{2} + \frac1{72}", r"\frac{1}{2} + 2/3"),
        (r"O(\log \log n)", "Theta(log log n)"),
        (r"F_n = \sum_{k=0}^{n-1} F_k F_{n-k-1}", r"F_n = \sum_{k=0}^{n-2} F_k F_{n-k-2}"),
    ],
    "units": [
        (r"10\text{ units}", "100"), (r"5 \text{ cm}", r"5 \text{ m}"), ("15 m", "16 m"),
        ("6m", "6"), ("0.64N", "0.64"), (r"120^\circ", r"121^\circ"),
        (r"\frac{\pi}{6}", r"30^\circ"),
    ],
    "percentages": [
        ("0.28", "28"), ("28", "28/100"), ("50", "0.5"), ("0.5", r"0.5\%"), (r"28\%", "2.8"),
    ],
    "several values": [
        ("1,-2", "1"), ("1,2,3", "1,2,3,3"), ("1,2,2", "1,2"), (r"\pm 2021", "2021"),
        ("(1,2)", "(2,1)"), ("(3,1)", r"\{1,3\}"), ("(3,1)", "{1,3}"), ("n=2, 3, 4", "n=1, 2, 3"),
        ("AB=4,CD=5", "5, 4"), ("x=2,y=3", "x=3,y=2"),
        (r"1, 2, \ldots, n", r"1, 3, 5, \ldots, 2n-1"), ("1, 2, 3", "1, 2, 3, ..."),
        (r"1:2:3:\ldots", r"1:4:9:\ldots"), ("19, 46, and 82", "21, 36, and 82"),
        ("(2,1),(1,2),(-1,-20)", "(1, 2), (2, 1)"),
    ],
    "intervals": [
        ("(1,2)", "[1,2]"), ("[0,9)", "[0,1)"), ("D = (0, 1)", "D = (0, 1.5)"),
        (r"-\infty", r"\infty"), (r"(-\infty,2)\cup(3,\infty)", r"(-\infty,2)\cup(4,\infty)"),
        ("1", "-[0,1)"),
    ],
    "relations": [
        ("x=5", "y=5"), ("7 = 11a+c", "11a+c"), ("a +3z = 0", "0"), ("2x + z = 1", "1"),
        ("x < 1", "x > -1"), (r"x \geq 5", r"x \leq 5"), ("x > 5", "5"), ("x^2+1=0", "x^2+2=0"),
        ("x^2+y^2=1", "x^{2}-y^{2}=1"), ("f(2) < f(1) < f(4)", "f(1) < f(2) < f(4)"),
        ("5x - 7y + 4 = 0", "x + y + 2 = 0"),
    ],
    "others": [
        (r"\text{(C)}", "(D)"), ("d", r"\text{E}"), (r"\text{yes}", "No"), ("52_8", "42"),
        ("52_8", "52_7"),
        (r"\begin{pmatrix}1 & 2\end{pmatrix}", r"\begin{pmatrix}1 & 3\end{pmatrix}"),
        ("52", "52_8"), ("9", "__import__('os').system('true')"), ("9", r"\input{/etc/passwd}"),
        ("5", "5\x00"), ("5", "1" * 100_000), ("5", "(" * 40 + "5" + ")" * 40),
        ("5", "（" * 400 + "5" + "）" * 400),
        ("92.5857658508735", r"\{@ 1276915 4951077 , \{1,1-3-10 \; 5\}"),
    ],
}  # fmt: skip

PAIRS = [
    pytest.param(gold, answer, expected, id=f"{topic}: {gold[:40]} | {answer[:40]}")
    for truth, expected in ((RIGHT, True), (WRONG, False))
    for topic, pairs in truth.items()
    for gold, answer in pairs
]


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(1, 20.0)
    yield pool
    pool.close()


@pytest.mark.parametrize(("gold", "answer", "expected"), PAIRS)
def test_rule(pool: WorkerPool, gold: str, answer: str, expected: bool) -> None:
    # A gold with a calculation in it would wrongly excuse one in the answer.
    assert decide(gold, answer) in (expected, None)
    (compared,) = pool.compare([(gold, answer)])
    assert compared.verdict is (Verdict.correct if expected else Verdict.wrong)


def test_cases_of_public_issues() -> None:
    path = DATA / "verifier_cases.jsonl"
    if not path.exists():
        pytest.skip("shared/data is not beside the project")
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    replies = [
        case["prediction"] if case["form"] == "response" else f"\\boxed{{{case['prediction']}}}"
        for case in cases
    ]
    with Verifier() as verifier:
        verdicts, report = verifier.grade([case["gold"] for case in cases], replies)
    differ = {
        case["id"]
        for case, verdict in zip(cases, verdicts, strict=True)
        if (verdict is Verdict.correct) != case["expected"]
    }
    # No box (v079, v087), a box in the reasoning only (v082), one box a value (v085): conventions.
    assert differ == {"v079", "v082", "v085", "v087"}
    assert all(case["convention"] for case in cases if case["id"] in differ)
    assert (report.timeouts, report.errors) == (0, 0)


@pytest.mark.parametrize(
    ("file", "most"),
    [
        ("math500", None),
        ("gsm8k_test", None),
        ("minerva_math", None),
        ("olympiadbench_maths_en", None),
        ("math_train", 300),
    ],
)
def test_every_gold_is_its_own_answer(file: str, most: int | None) -> None:
    path = DATA / f"{file}.jsonl"
    if not path.exists():
        pytest.skip("shared/data is not beside the project")
    golds = [json.loads(line)["answer"] for line in path.read_text(encoding="utf-8").splitlines()]
    for gold in golds[:: 1 if most is None else len(golds) // most]:
        answer = last_box(f"So it is $\\boxed{{{gold}}}$.")
        assert answer is not None
        assert decide(gold, answer) is True
        # In other words too, so that not only identical texts are tried.
        respelled = gold.replace("\\frac", "\\dfrac").replace("\\left", "").replace("\\right", "")
        assert decide(gold, f"\\displaystyle {respelled} .") is True
