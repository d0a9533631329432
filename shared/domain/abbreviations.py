"""Words written with a full stop that does not, or need not, end a sentence; all lower case, without the final stop."""

# A name or a thing always follows.
ALWAYS_CONTINUED: frozenset[str] = frozenset(
    """
    dr mr mrs ms mx prof profs messrs mme mlle hon rev fr sen sens rep reps gov govs gen col lt capt cpt sgt cmdr
    adm maj pres supt amb
    e.g eg i.e ie cf viz vs v ca approx incl excl esp resp st mt ft dept univ assn intl natl
    z.b d.h u.a s.o vgl bzw evtl ggf inkl sog hr hrn fr dipl ing
    env p.ej sra srta dra sig dott avv
    """.split()
)

# A number, a letter or a name may follow; where a common sentence opener does, the sentence has ended.
MAY_END: frozenset[str] = frozenset(
    """
    inc ltd co corp bros plc llc jr sr esq etc al ave blvd rd sq bldg ed eds trans est ext
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    a.m p.m am pm ph.d m.d b.a m.a b.s m.s u.s u.k u.n e.u d.c u.s.a l.a n.y b.c a.d b.c.e
    mio mrd usw ee.uu avg min max hrs mins secs
    """.split()
)

# They stand before a number or a label: "No. 5", "Fig. 3b", "pp. 10", "Sec. IV".
BEFORE_NUMBER: frozenset[str] = frozenset(
    """
    no nos nr núm num div fig figs eq eqs p pp pg vol vols ch chap sec sect tab tbl ref refs art arts para paras par app
    appx ex ver vers op s abs anm bd rn ziff
    """.split()
)

# Words that open sentences far more often than they follow an abbreviation.
OPENERS: frozenset[str] = frozenset(
    """
    the a an this that these those it its he she they we i you his her their our my your there here
    in on at by for from with to of as if when while after before since until because although though however but and or
    so yet then thus therefore moreover furthermore nevertheless meanwhile also both each every many most some several
    all any no not nor what who why how where which whether once under over during between among despite unlike
    according
    der die das ein eine es er sie wir im am bei nach vor mit für und aber
    le la les un une il elle ils elles nous dans en pour avec mais el los las una se lo
    """.split()
)

# "3. Oktober": the stop of an ordinal.
AFTER_ORDINAL: frozenset[str] = frozenset(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember jahrhundert jahrhunderts
    """.split()
)
