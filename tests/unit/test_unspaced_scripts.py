"""Chinese and Japanese, written without spaces: questions are answered from documents in their own script."""

import pytest

from evals.inprocess.library import Library
from evals.inprocess.play import play

DOCUMENTS = {
    "港口.md": "# 北湾港年度报告\n\n北湾港位于河口北岸。2021年北湾港共疏浚泥沙41.2万立方米。新船闸由海工集团建造。\n",
    "花园.md": "# 城市花园\n\n花园里有三百棵樱花树。每年春天有许多游客。门票是免费的。\n",
    "灯台.md": "# 白浜灯台の歴史\n\n白浜灯台は1898年に完成した。高さは31メートルである。設計者は山田一郎だった。\n",
    "市場.md": "# 朝の市場\n\n市場では魚と野菜が売られている。毎朝五時に開く。\n",
    "pier.md": "# The long pier\n\nThe long pier was built by Brand Works in 1902. It is closed in winter.\n",
}


@pytest.fixture(scope="module")
def library() -> Library:
    """A library in three languages."""
    made = Library()
    made.add_all((name, text.encode()) for name, text in DOCUMENTS.items())
    return made


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("2021年北湾港疏浚了多少立方米泥沙？", "41.2万立方米"),
        ("白浜灯台はいつ完成しましたか？", "1898年"),
        ("Who built the long pier?", "Brand Works"),
    ],
)
def test_the_short_answer_holds_what_was_asked(library: Library, question: str, said: str) -> None:
    """Retrieval, extraction, the gate and the choice of the answer need no spaces between words."""
    answer = play(question, library).reports[-1].short_answer
    assert answer is not None
    assert said in answer.text


@pytest.mark.parametrize(
    ("question", "said"), [("北湾港的新船闸由谁建造？", "海工集团"), ("白浜灯台の設計者は誰ですか？", "山田一郎")]
)
def test_what_words_alone_are_not_sure_of_is_shown_as_nearest(library: Library, question: str, said: str) -> None:
    """Too few words of the question stand there to be sure: it is shown, and not as the answer."""
    report = play(question, library).reports[-1]
    assert report.short_answer is None
    assert any(said in statement.text for statement in report.nearest)


def test_the_other_language_stays_out(library: Library) -> None:
    """A Chinese question finds no Japanese page by the characters that both scripts share."""
    report = play("花园里有多少棵樱花树？", library).reports[-1]
    assert report.short_answer is not None
    assert "三百" in report.short_answer.text
