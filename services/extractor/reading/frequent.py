"""Whether bytes of an old East Asian encoding, read as such, give the characters that its language uses most.

A few names among much ASCII are too little for statistics of whole texts: the same bytes are valid in three encodings.
But only in one of them are they common characters.
"""

from dataclasses import dataclass

from services.extractor.reading.alphabets import KANA

_CHINESE = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么"
    "去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关"
    "点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通"
    "教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期"
    "市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张"
    "该交规万取拉格望觉术领共确传师观清今切院让识候带导争运港码船桥河江湖岸堤波防坝泊深库岛城州县村镇街京广州沪津李陈刘杨黄赵吴周徐孙"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作里用道行所然家種事成方多經麼"
    "去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關"
    "點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利二等產或新己制身果加西月話合回特代內信表化老給世位次度門任常先海通教東"
    "聲提立及比員解水名真論處走義各入口認條平系氣題活更別打女變四神總何電數安少報才結反受目太量再建務做接必場件計管期市直資命山金指統"
    "區保至隊形社便空治展馬科司五基書非白界達光放強難權思王象完設式色路記南品住告類求據程北邊港碼船橋河江湖岸堤波防壩深庫島城州縣村鎮街"
    "京廣臺灣陳林黃張李王吳劉蔡楊許鄭謝高雄基隆"
)
_JAPANESE = (
    "日一人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語土木聞食車"
    "何南万毎白天母火右読友左休父雨国会事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安院心界"
    "教文元重近考画海売知道集別物使品計死特私始朝運終台広住無真有口少町料工建空急止送切転研足究楽起着店病質待試族銀早映親験英医仕去味写"
    "字答夜音注帰古歌買悪図週室歩風紙黒花春赤青館屋色走秋夏習駅洋旅服夕借曜飲肉貸堂鳥飯勉冬昼茶弟牛魚兄犬妹姉漢港湾岸壁桟橋埠頭防波堤"
    "島県市区村浜崎沢藤井佐伊加村松林森石原池橋谷岡阪神戸横須賀潮深船航河口湖岬灯漁丸第号区県府東西南北"
)
_KOREAN = (
    "이다에의는로하을가고지서한은기으년대사시를리도인스일그있것들수나보어자정제부장해과전상주여구아동생니게면만원성라소관세용유공우"
    "안물조선분적되경치비화실무국내문중신회학교역오마방계진영연양개라모미바반발법산설속실업위음의임재조중처체출통포프학항해행현호회후부산"
    "인천서울광주대구울산강남북동서항만파제방부두수심다리선박김박최정강조윤장임한오신권황안송류홍고양손배백허남심노곽성차주"
)
_COMMON = {
    "gb18030": frozenset(_CHINESE),
    "big5hkscs": frozenset(_TRADITIONAL),
    "cp932": frozenset(_JAPANESE) | KANA,
    "euc-jp": frozenset(_JAPANESE) | KANA,
    "cp949": frozenset(_KOREAN),
}
_FIRST_LEVEL = {  # the lead bytes of the characters that each standard put first, by how common they are
    "gb18030": (0xB0, 0xD7),
    "big5hkscs": (0xA4, 0xC6),
    "cp932": (0x88, 0x97),
    "euc-jp": (0xB0, 0xCF),
    "cp949": (0xB0, 0xC8),
}
_MARKS = frozenset("，。、；：？！「」『』（）・ー～《》“”‘’…—　")


@dataclass(frozen=True, slots=True)
class Liking:
    """How well one encoding fits: its codec, the mean score of its characters (at most 3), and how many they are."""

    codec: str
    score: float
    characters: int


def likings(sample: bytes) -> list[Liking]:
    """Return the East Asian encodings in which bytes are valid, the best first."""
    found = [liking for codec in _COMMON if (liking := _liking(sample, codec)) is not None]
    return sorted(found, key=lambda liking: liking.score, reverse=True)


def _liking(sample: bytes, codec: str) -> Liking | None:
    try:
        text = sample.decode(codec)
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 3:
            return None
        text = sample[: error.start].decode(codec)
    characters = [character for character in text if not character.isascii()]
    scores = [_score(character, codec) for character in characters if character not in _MARKS]
    return Liking(codec, sum(scores) / len(scores), len(scores)) if scores else None


def _score(character: str, codec: str) -> float:
    """Return 3 for a character that is common, 1 for one of the standard's first level, less for the rest."""
    if character in _COMMON[codec]:
        return 3
    written = character.encode(codec, "replace")
    low, high = _FIRST_LEVEL[codec]
    if len(written) == 2 and low <= written[0] <= high and (codec not in ("gb18030", "cp949") or written[1] >= 0xA1):
        return 1
    return -1 if len(written) != 2 or written[0] < low else 0
