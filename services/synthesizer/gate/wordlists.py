"""Words that turn a sentence: denials and opposites; and where clauses part. English only."""

import re

DENIAL = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|cannot|nothing|nobody|fail(?:s|ed)?|unable|lack(?:s|ed)?|refus\w*|"
    r"den(?:y|ied|ies)|hardly|rarely|unlikely|absence)\b|n['’]t\b",
    re.IGNORECASE,
)
TURN_BREAK = re.compile(
    r"[,;:()\n]|\b(?:and|but|which|who|while|because|although|where|when|with|including|such as|as well as)\b",
    re.IGNORECASE,
)
"""Clauses as `turns` compares them: what is said and that it is said stay together."""

CLAUSE_BREAK = re.compile(TURN_BREAK.pattern + r"|\bthat\b", re.IGNORECASE)

POSSIBLE = re.compile(
    r"\b(?:may|might|could|possibly|perhaps|maybe|probably|likely|potentially|reportedly|allegedly|apparently|"
    r"presumably|suggest(?:s|ed|ing)?)\b",
    re.IGNORECASE,
)
HEDGE = re.compile(
    POSSIBLE.pattern + r"|\b(?:can|would|should|possible|probable|unlikely|potential|reported|alleges?|alleged|"
    r"indicat\w+|seem(?:s|ed)?|appear(?:s|ed)?|expect(?:s|ed)?|plan(?:s|ned)?|propos(?:es?|ed)|hop(?:es?|ed)|"
    r"aim(?:s|ed)?|believ(?:es?|ed)|estimat\w+|hypothes\w+|predict(?:s|ed)?|claim(?:s|ed)?|if|unless|whether)\b",
    re.IGNORECASE,
)
"""What may stand in place of a word of `POSSIBLE`."""

WHOLE = re.compile(
    r"\b(?:all|every|everyone|everything|everybody|each|always|entire|entirely|invariably|completely|wholly)\b",
    re.IGNORECASE,
)
UNIVERSAL = re.compile(
    WHOLE.pattern + r"|\b(?:whole|fully|only|both|any|without exception|no|none|never)\b", re.IGNORECASE
)
"""What may stand in place of a word of `WHOLE`."""

PASSIVE = re.compile(r"\bby\b", re.IGNORECASE)

_OPPOSITES = (
    "increase decrease,increase decline,increase reduce,increase fall,increase lower,rise fall,rise drop,"
    "rise decline,higher lower,high low,more less,more fewer,large small,larger smaller,big small,before after,"
    "early late,old young,older younger,win lose,won lost,accept reject,approve reject,allow prevent,"
    "allow forbid,support oppose,success failure,succeed fail,positive negative,male female,men women,man woman,"
    "boy girl,north south,east west,northern southern,eastern western,first last,open close,begin end,start end,"
    "start stop,buy sell,gain loss,profit loss,good bad,better worse,best worst,strong weak,stronger weaker,"
    "safe dangerous,active inactive,activate inhibit,promote inhibit,enhance reduce,enhance impair,"
    "improve worsen,induce inhibit,induce prevent,cause prevent,effective ineffective,upregulate downregulate,"
    "above below,over under,maximum minimum,many few,always never,all none,alive dead,war peace,rich poor,"
    "husband wife,father mother,son daughter,brother sister,single married,import export,public private,"
    "include exclude,presence absence,present absent,same different,hot cold,warm cool,warming cooling,"
    "warmer cooler,fast slow,faster slower,long short,longer shorter,heavy light,expand shrink,"
    "expansion contraction,join leave,enter leave,arrive leave,add remove,create destroy,build destroy,"
    "agree disagree,like dislike,true false,right wrong,left right,major minor,majority minority,"
    "necessary unnecessary,sensitive resistant,susceptible resistant,dependent independent,direct indirect,"
    "known unknown,possible impossible,able unable,complete incomplete,legal illegal,formal informal,lead trail,"
    "upper lower,inside outside,internal external"
)


def opposites() -> dict[str, frozenset[str]]:
    """Return the words that say the opposite of a word, as they are written in `_OPPOSITES`, both ways."""
    found: dict[str, set[str]] = {}
    for pair in _OPPOSITES.split(","):
        one, two = pair.split()
        found.setdefault(one, set()).add(two)
        found.setdefault(two, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}
