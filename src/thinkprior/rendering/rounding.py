"""Numbers as the paper prints them."""

from decimal import ROUND_HALF_UP, Decimal


def printed(value: float, digits: int, *, signed: bool = False) -> str:
    """A finite number with a fixed number of decimals, halves away from zero.

    Shares of 80 groups and their means often lie halfway between two printed values (33/240 =
    0.1375), and binary rounding of a sum would then decide the last digit; so the value is first
    taken to twelve significant digits.

    Args:
        value: The number.
        digits: Decimals, 0 or more.
        signed: Whether a positive number gets a plus sign.

    Returns:
        The decimal in ASCII; what rounds to zero has no sign.
    """
    rounded = Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    if not rounded:
        return f"{abs(rounded):f}"
    return f"{rounded:+f}" if signed else f"{rounded:f}"
