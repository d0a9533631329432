"""The document index in Postgres: scripts without spaces between words, titles, and accents."""

import pytest

from services.extractor.parsing import parse_bytes
from shared.db.engine import Transactions
from shared.domain.ids import LOCAL_OWNER
from shared.domain.text import content_terms
from shared.ports.gateway import Upload
from shared.ports.ledger import DocumentUpdate, Outcome
from tests.support.stage import Stage

FILES = {
    "gang.md": "# 北湾港年度报告\n\n北湾港位于河口北岸。2021年北湾港共疏浚泥沙41.2万立方米。\n",
    "huayuan.md": "# 城市花园\n\n花园里有三百棵樱花树。每年春天有许多游客。\n",
    "todai.md": "# 白浜灯台の歴史\n\n白浜灯台は1898年に完成した。設計者は山田一郎だった。\n",
    "ichiba.md": "# 朝の市場\n\n市場では魚と野菜が売られている。毎朝五時に開く。\n",
    "titled.md": "# Ferry timetable\n\nIt leaves at nine and comes back at noon, every day but Sunday.\n",
    "mentions.md": "# Notes\n\nThe timetable of the ferry hangs in the hall, beside other notices of the week.\n",
    "cafe.md": "# Café Brûlé\n\nThe café by the river opens in spring.\n",
}


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A library with all files read."""
    stage = Stage(transactions)
    for name, text in FILES.items():
        data = text.encode()
        ingest, sent = stage.controls.add_documents(LOCAL_OWNER, [Upload(name, data)])
        parse, snapshot = parse_bytes(data, name)
        assert snapshot is not None
        stage.snapshots.put(LOCAL_OWNER, snapshot, parse)
        update = DocumentUpdate(ingest.document_ids[0], parse)
        stage.finish(sent.wake_ups[0].step_id, Outcome("read", document=update))
    return stage


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("疏浚泥沙多少立方米", "gang.md"),
        ("樱花树", "huayuan.md"),
        ("灯台の設計者", "todai.md"),
        ("魚と野菜", "ichiba.md"),
        ("ferry timetable", "titled.md"),
        ("cafe brule", "cafe.md"),
    ],
)
def test_the_best_document_comes_first(stage: Stage, query: str, first: str) -> None:
    """Bigrams find Chinese and Japanese; a title counts more than a mention; accents need not be typed."""
    hits = stage.index.search(LOCAL_OWNER, content_terms(query), None, 5)
    assert hits[0].name == first
