"""The option that limits what a question may cost."""

import pytest

from infra.cli.options import parser


def test_a_limit_on_cost_is_an_amount_of_dollars() -> None:
    """It is a number over nothing; without the option there is no limit."""
    assert parser().parse_args(["ask", "How deep?", "--max-cost", "0.50"]).max_cost == 0.5
    assert parser().parse_args(["ask", "How deep?"]).max_cost is None


@pytest.mark.parametrize("given", ["0", "-1", "much", "nan", "inf"])
def test_anything_else_is_wrong_use(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal shows the form."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["ask", "How deep?", f"--max-cost={given}"])
    assert ended.value.code == 2
    assert "such as 0.50" in capsys.readouterr().err
