"""Whether a hyphen at the end of a line belongs to the word, or only cuts it there.

What the document writes elsewhere decides, inside its lines: "price-determining" or "pricedetermining". Where it writes
neither, a hyphen is taken for a cut, as most are, unless both halves are words by themselves or the first half is a
part that is written with a hyphen ("self-", "US-").
"""

import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[^\W\d_]+(?:['’\-\u2010][^\W\d_]+)*")
_HEAD = re.compile(r"(?:[^\W_]+[-\u2010])*[^\W\d_]+\Z")
_TAIL = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_HYPHENS = ("-", "\u2010", "\u00ad")
_FUNCTION = frozenset("a and at by for from in of off on or the to up with".split())
_SPLIT = re.compile(r"[-\u2010]")
_KEPT = frozenset("self well quasi half cross ill all post".split())
# Beginnings that make one word with what follows, though they are words.
_CLOSED = frozenset(
    (
        "after any back black by down every eye fore for foot hand here head home how in inter land life man "
        "micro mean mid more multi no none not on other out over pass rain sea some sub sun super thing thought "
        "through trans under up water way what when where who with work"
    ).split()
)
_ENDINGS = re.compile(
    r"(?:s|es|ed|er|ers|ing|ings|ly|al|ally|ic|ics|ical|ity|ities|bility|able|ible|ably|ous|ously|ive|ively"
    r"|ment|ments|mental|ness|tion|tions|tional|sion|sions|sional|ation|ations|ance|ances|ence|ences|ent"
    r"|ents|ant|ants|ency|ary|ory|ist|ists|ism|ize|ized|izing|ise|ised|ful|fully|less|ship|ships|hood|ward"
    r"|wards|wise|ten|tain|tained|ture|tures|cial|cially|tial|tially|ure|ures|age|ages|dom|ish|ling|lings"
    r"|ning|ting|ring|ding|ping|ging|ming|king|ger|gers|ter|ters|ner|ners|der|ders|ber|bers|ties|cies|ries"
    r"|ly|lar|larly|lated|lating|lation|rated|rating|ration)\Z"
)
# What stands after a hyphen in compounds, and what stands before one; common English words.
_AFTER = frozenset(
    (
        "aged and area based bearing blind blown born bound breaking built by called caused centered centred "
        "changing clad class coded colored coloured conscious consuming controlled controlling cost covered cut "
        "cutting date day deep deficient defined dependent derived determined determining dimensional directed "
        "door down driven due earned economic edge effect effective efficient end ended engine evident "
        "experienced eyed faced fed feet field filled finding first fit flow fold foot forming found free "
        "friendly fuel funded generated generation given going governmental grade green grown half hand handed "
        "headed high hold home hour in inch income independent induced informed intensive invasive keeping "
        "kilometer kilometre known large law led legged length level life like line linear lined lived living "
        "long looking lying made making managed market matched meter metre mile minded minute mode month moving "
        "nation negative new numbered of off oil old on only operated operating order oriented out over owned "
        "page paid parametric part party paying person phase planned point poor positive powered price priced "
        "processed producing profit prone proof property protected qualified quality quarter range ranging rate "
        "rated reaching ready related rich running saving scale scaled sea section seeking sensitive serving set "
        "setting shaped share shot side sided sighted size sized skilled sounding source space specific speed "
        "spending stage standing star state step storey story style supervised supported taking taught tech term "
        "threatening tier time to tolerant ton tone trained treated tuning turn two type up user value variate "
        "water wave way week weight weighted wide width wing winning wise word working world worthy year yield "
        "zone"
    ).split()
)
_BEFORE = frozenset(
    (
        "age agency air best better big blood body book bottom brand break broad business capital carbon case "
        "cash center centre child city class climate close coal coast cold color colour community computer "
        "consumer cost country court crew crop cross customer dark data day decision deep demand depth design "
        "disease door double drug dry duty early earth east education eight eighty employee end energy error "
        "event evidence export face fact family far farm fast fault feed field fifty fine fire first five fixed "
        "flat flood food forty four free freight fresh front fuel full fully fund gas gender gene good government "
        "grant great green gross ground group growth harbour hard heat heavy high hot hour house human ice import "
        "income indoor industry infant interest iron job key knowledge labor labour lake large last late law lead "
        "leading less life light like line liquid load loan local long low machine main market mass medium member "
        "metal middle mission mixed model money month moon most multi nation near need never new newly nine "
        "ninety noise north ocean office oil old one open order other paper part patient pay people performance "
        "person plan plant point policy poor population port power pre present price problem process product "
        "profit project property public quality question quick rail rain range rapid rate read ready real red "
        "rent research resource result revenue rice right risk river road rock role round rule rural safety salt "
        "same sand school sea season second sector semi service seven seventy sex shallow ship shore short side "
        "silver single site six sixty size skill slow small snow so social soft soil solar solid sound source "
        "south space special speed spring staff stage standard star state steam steel step stock storm strong "
        "student sugar sun supply surface system target task tax teacher team technology temperature ten test "
        "text then third thirty thread three tide time top total town trade traffic train tree trial twelve "
        "twenty two type unit urban user value vector very wage wall war warm waste water wave weather web week "
        "weight well west wet white wide wind winter wood word work world worst year young zero"
    ).split()
)


class Vocabulary:
    """The words of a document as they stand inside its lines, without the halves at their ends."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._words: Counter[str] = Counter()
        is_cut = False
        for line in lines:
            words = _WORD.findall(line)[is_cut:]
            is_cut = line.rstrip()[-1:] in _HYPHENS
            if is_cut:
                words = words[:-1]
            self._words.update(word.casefold() for word in words)

    def keeps_hyphen(self, line: str, following: str) -> bool:
        """Tell whether the hyphen at the end of `line` belongs between its last word and the first of `following`."""
        if line[-1:] == "\u00ad":
            return False
        head, tail = _HEAD.search(line[:-1]), _TAIL.match(following)
        if head is None or tail is None:
            return False
        parts, ends = _SPLIT.split(head[0]), _SPLIT.split(tail[0])
        if (len(parts) > 1 and parts[-1] in _FUNCTION) or (len(ends) > 1 and ends[0] in _FUNCTION):
            return True
        before, after = head[0], ends[0]
        joined, hyphenated = self._count(before + after), self._count(f"{before}-{after}")
        if joined != hyphenated:
            return hyphenated > joined
        last = parts[-1]
        if last.isupper() and len(last) > 1 and after.islower():
            return True
        return self._are_words(last.casefold(), after.casefold())

    def _are_words(self, before: str, after: str) -> bool:
        """Tell whether both halves are words that may be parted by a hyphen."""
        if before in _KEPT:
            return len(after) > 2 and (before not in ("all", "ill", "post") or self._is_word(after))
        if before in _CLOSED or len(before) < 2 or _ENDINGS.match(after):
            return False
        return self._is_word(before, _BEFORE) and self._is_word(after, _AFTER)

    def _is_word(self, word: str, known: frozenset[str] = _AFTER) -> bool:
        """Tell whether a half is a word by itself: known, or written in the document."""
        return word in known or (len(word) > 3 and self._words[word] > 0)

    def _count(self, word: str) -> int:
        """Return how often the document writes a word."""
        return self._words[word.replace("\u2010", "-").casefold()]
