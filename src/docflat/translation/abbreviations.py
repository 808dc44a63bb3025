"""Abbreviations by language: words whose full stop belongs to them.

Written for docflat, from general knowledge of the languages and from where a sentence splitter went wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from docflat.translation.abbreviations_further import FURTHER


@dataclass(frozen=True)
class Abbreviations:
    """Words in small letters, without their last full stop."""

    before_more: frozenset[str]  # what they belong to comes after them, so they end no sentence
    may_end: frozenset[str]  # a sentence goes on after them if a number or a small letter follows
    after_all: frozenset[str]  # they end what they belong to: a sentence ends there if a capital letter follows


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _words(before_more: str, may_end: str, after_all: str) -> Abbreviations:
    return Abbreviations(_set(before_more), _set(may_end), _set(after_all))


ABBREVIATIONS = {
    "en": _words(
        before_more="""
            approx ca cf vs viz e.g i.e eg ie mr mrs ms mx dr prof rev hon gen col maj capt cmdr lt sgt cpl adm gov
            sen rep pres supt insp messrs st mt fig figs eq eqs vol vols nos pp chs secs paras mme mlle hr""",
        may_end="""
            no nr num p ch chap sec sect para art ed eds ref refs cit ibid incl excl inc ltd corp co cos bros assn
            dept depts est etc min max avg misc tel fax ext jan feb mar apr jun jul aug sept oct nov dec mon tue tues
            wed thu thur thurs fri ave blvd rd sq hwy apt appt bldg univ govt dist jr sr esq a.m p.m ph.d m.d b.a m.a
            u.s u.s.a u.k u.n e.u d.c b.c a.d lb lbs oz ft pt pts hrs mins secs yr yrs wk wks doz qty pkg pct ver mfg
            govt natl intl""",
        after_all="etc",
    ),
    "de": _words(
        before_more="""
            bzw ca z.b zb z.t z.zt d.h dh u.a ua sog vgl evtl ggf ggfs inkl exkl zzgl einschl abzgl max min hr hrn fr
            dr prof dipl ing mag nr nrn abb tab kap abs art bd bde hg hrsg jh jhd jg st mio mrd tsd geb gest verh verw
            tel fax str phil med jur rer nat hl frl i.d.r idr i.a m.e o.g s.o s.u u.u v.a z.z zit ausg aufl ed bes
            bspw d.i e.h ehem eigtl entspr gegr insb insbes jew kgl körpersch lfd lt lat mind mtl näml od örtl pers rd
            röm schw sen jun span stellv südl nördl östl westl svw tägl übers ung urspr usf versch wiss zz zzt""",
        may_end="""
            usw etc u.s.w u.ä u.dgl dgl uvm u.v.m jan feb mär apr jun jul aug sep sept okt nov dez mo di mi do fr sa
            so mwst ust st std min sek jr co inc ltd s f ff p a anm n.chr v.chr chr allg amtl anh bibl dept""",
        after_all="usw etc u.s.w uvm u.v.m mwst ust",
    ),
    "fr": _words(
        before_more="""
            m mm mme mmes mlle mlles dr pr me mgr st ste p pp cf env av apr ex fig art chap vol éd coll tél n no nos
            réf qqch qqn bd c.-à-d c.à.d p.ex par.ex max min approx""",
        may_end="etc j.-c janv févr avr juil sept oct nov déc lun mar mer jeu ven sam dim a.m p.m cie s.a",
        after_all="etc",
    ),
    "es": _words(
        before_more="""
            sr sra srta sres dr dra d dña ud uds vd vds prof ing lic gral cnel núm nro nº pág págs pp art arts cap fig
            vol tel telf avda av c p.ej aprox máx mín ref st sto sta""",
        may_end="etc a.c d.c a.m p.m ee.uu s.a s.l ene feb abr ago sept oct nov dic cía ltda",
        after_all="etc",
    ),
    "it": _words(
        before_more="""
            sig sigg sigra sig.ra sig.na dott dr dr.ssa prof prof.ssa ing avv arch geom rag on s p pp pag pagg art
            artt cap capp cfr fig vol tel n nn es ad.es p.es ca circa max min rif st""",
        may_end="ecc etc a.c d.c s.p.a s.r.l gen feb mar apr mag giu lug ago sett ott nov dic",
        after_all="ecc etc",
    ),
    "nl": _words(
        before_more="""
            dhr mevr mw dr drs ir ing mr prof bijv bv d.w.z dwz o.a t.a.v i.v.m m.b.t n.a.v z.s.m nr nrs blz p pp art
            hfst fig ca max min incl excl evt resp tel vgl zgn st""",
        may_end="enz etc e.d a.u.b jan feb mrt apr jun jul aug sept okt nov dec ma di wo do vr za zo n.chr v.chr",
        after_all="enz etc",
    ),
    **{language: _words(*words) for language, words in FURTHER.items()},
}

# Words with a capital that begin German sentences and clauses; other capitals are those of nouns.
GERMAN_OPENERS = _set(
    """
    der die das den dem des ein eine einen einem einer er sie es ich wir ihr du man dies diese dieser dieses dann
    danach da dort hier heute morgen gestern im in am an auf aus bei mit nach von vor zu zum zur für durch über unter
    wenn weil als ob und oder aber doch auch nur noch so wie was wer wo warum bitte siehe alle beide jeder jede jedes
    kein keine mein meine sein seine ihre unser unsere"""
)
# Words before a German ordinal: am 5. Mai, im 19. Jahrhundert.
BEFORE_ORDINALS = _set("am im zum vom beim der die das den dem des ab bis seit jeder jede jedes jeden sein ihr")
