"""Abbreviations of further languages, as `Abbreviations` has them: before more; may end; after all.

Written for docflat, from general knowledge of the languages. In these a sentence goes on after a full stop if a small
letter follows, where the script has small letters. A word is left out where sentences often end in it.
"""

from __future__ import annotations

FURTHER: dict[str, tuple[str, str, str]] = {
    "pt": (
        """
        sr sra srta srs dr dra d prof profa eng exmo exma av r pç al núm n nº pág págs p pp art arts cap fig figs
        vol tel apto ap séc ref dept cf ex p.ex aprox máx mín st sto sta
        """,
        "etc a.c d.c a.m p.m s.a ltda cia jan fev mar abr mai jun jul ago set out nov dez",
        "etc",
    ),
    "ca": (
        "sr sra srs dr dra prof av c núm pàg pàgs p pp art cap fig vol tel st sta p.ex aprox",
        "etc a.c d.c",
        "etc",
    ),
    "gl": (
        "sr sra dr dra prof av r núm páx p art cap fig vol tel p.ex aprox",
        "etc a.c d.c",
        "etc",
    ),
    "eu": (
        "jn dr prof zk art kap",
        "etab",
        "etab",
    ),
    "ro": (
        "dl dna d-na d-l dr prof ing str bd nr pag p art alin cap fig vol tel sf ex aprox cca",
        "etc î.hr d.hr",
        "etc",
    ),
    "pl": (
        """
        ul al pl os nr godz zob por rys tab str s art ust pkt prof inż mgr hab lek red ks św p pp tel ok np tzn
        tzw m.in wg ww gen płk kpt adw ppłk hr min maks ob dot
        """,
        "itd itp r w wg mln mld tys zł gr n.e p.n.e jw cd cdn",
        "itd itp",
    ),
    "cs": (
        """
        ul nám tř č čp čís str s obr tab odst písm kap viz tel např tj tzn tzv mj ing mgr judr mudr phdr rndr dr
        prof doc sv p pí sl cca max min vč pozn
        """,
        "atd apod r n.l př.n.l kč mil mld tis hod min",
        "atd apod",
    ),
    "sk": (
        """
        ul nám č čís str s obr tab ods písm kap tel napr tj t.j tzn tzv ing mgr judr mudr phdr rndr dr prof doc sv
        p cca max min pozn
        """,
        "atď apod r n.l pr.n.l mil mld tis hod",
        "atď apod",
    ),
    "sl": (
        "ul št str s sl tab čl odst pogl tel npr tj t.i t.j dr mag prof doc sv g gdč inž pribl maks min",
        "itd ipd r",
        "itd ipd",
    ),
    "hr": (
        "ul br str s sl tab čl st pogl tel npr tj tzv dr mr prof doc sv g gđa gđica ing maks min",
        "itd sl god r",
        "itd",
    ),
    "bs": (
        "ul br str s sl tab čl st tel npr tj tzv dr mr prof doc sv g gđa ing maks min",
        "itd sl god r",
        "itd",
    ),
    "sr": (
        """
        ул бр стр с сл таб чл ст тел нпр тј тзв др мр проф доц св г гђа инж макс мин ul br str sl čl tel npr tj
        tzv dr mr prof sv g
        """,
        "итд сл год itd sl god",
        "итд itd",
    ),
    "mk": (
        "ул бр стр сл чл тел пр т.е т.н д-р проф св г",
        "итн год",
        "итн",
    ),
    "bg": (
        "ул бул пл бл вх ап стр с фиг табл чл ал тел напр т.е т.нар т.н проф доц инж св г-н г-жа гр кв",
        "др пр г лв млн млрд хил",
        "",
    ),
    "ru": (
        """
        ул пр просп пер пл наб бул ш д кв корп стр с рис табл гл разд п пп ст тел им проф акад доц инж г-н г-жа св
        см ср напр т.н т.наз т.е чл зам зав ред изд сост обл р-н пос дер
        """,
        "т.д т.п др пр г гг в вв руб коп млн млрд тыс н.э до.н.э мин сек ч кг см км м",
        "т.д т.п др пр",
    ),
    "uk": (
        """
        вул просп пров пл наб бул буд кв корп стор с рис табл гл розд п пп ст тел ім проф акад доц інж п-н п-ні св
        див пор напр т.зв т.з обл р-н смт
        """,
        "т.д т.п ін р рр ст грн коп млн млрд тис н.е хв сек кг см км",
        "т.д т.п ін",
    ),
    "be": (
        "вул пр завул пл д кв стар с мал табл гл арт тэл імя праф акад св напр т.зв",
        "т.д г гг руб млн млрд тыс",
        "т.д",
    ),
    "lt": (
        "g pr al nr pav lent str p psl sk dr prof doc inž tel pvz t.y vad vnt šv maks min",
        "ir.t.t ir.pan m mln mlrd tūkst",
        "t.t pan",
    ),
    "lv": (
        "nr lpp att tab nod p dr prof doc inž tel piem t.i t.s sv apm maks min",
        "utt u.c g gs milj mljrd tūkst",
        "utt u.c",
    ),
    "et": (
        "tn mnt pst nr lk joon tab ptk vt dr prof mag tel nt s.t s.o nn ca pms v.a maks min püha hr pr",
        "jne jms a e.m.a m.a.j mln mlrd",
        "jne jms",
    ),
    "fi": (
        "nro n no os puh s sr ks vrt kuv taul luv esim ts toim tri prof dipl ins maks min noin n.s ns pyhä klo",
        "jne yms ym ym.s v e.kr j.kr milj mrd",
        "jne yms ym",
    ),
    "sv": (
        """
        nr s sid fig tab kap tel t.ex dvs d.v.s bl.a ca c:a dr prof doc ing hr fr s.k o.d resp inkl exkl max min
        kl m.a.o f.d e.d jfr
        """,
        "osv o.s.v etc m.m m.fl kr f.kr e.kr milj mdr jan feb aug sept okt nov dec",
        "osv o.s.v etc m.m m.fl",
    ),
    "da": (
        """
        nr s fig tab kap jf tlf f.eks fx dvs d.v.s bl.a ca dr prof cand mag ing hr fr s.k pga p.g.a ifm i.f.m inkl
        ekskl maks min kl vedr afd
        """,
        "osv o.s.v etc m.m m.fl kr f.kr e.kr mio mia jan feb aug sept okt nov dec",
        "osv o.s.v etc m.m m.fl",
    ),
    "nb": (
        """
        nr s fig tab kap jf tlf f.eks dvs d.v.s bl.a ca dr prof cand mag ing hr fr s.k pga p.g.a ifm inkl ekskl
        maks min kl vedr avd
        """,
        "osv o.s.v etc m.m m.fl kr f.kr e.kr mill mrd jan feb aug sept okt nov des",
        "osv o.s.v etc m.m m.fl",
    ),
    "is": (
        "nr bls mynd tafla kap sbr t.d þ.e u.þ.b ca dr prof hr fr sr kl sími skv",
        "o.s.frv o.fl kr f.kr e.kr",
        "o.s.frv o.fl",
    ),
    "hu": (
        "u út tér nr sz old o ábra tábl fej ld vö tel pl ill kb dr prof ifj id özv szt max min",
        "stb sz i.sz i.e m mrd ft db",
        "stb",
    ),
    "tr": (
        "sok cad mah bul no apt s ss şek tab böl bkz krş tel örn yy dr prof doç yrd av sn st vb maks min hz",
        "vb vs vd mö ms tl",
        "vb vs vd",
    ),
    "az": (
        "küç pr no s şək cədv bax tel məs dr prof dos",
        "və.s",
        "",
    ),
    "el": (
        "κ κα κκ δρ καθ οδ αρ σ σελ εικ πιν κεφ αρθρ βλ πρβλ τηλ π.χ δηλ λ.χ αγ περ μεγ ελ",
        "κ.λπ κλπ κ.ά κ.τ.λ π.χ μ.χ εκ χιλ δισ",
        "κ.λπ κλπ κ.ά κ.τ.λ",
    ),
    "sq": (
        "z znj dr prof nr f fig rr bul sh p.sh tel",
        "etj",
        "etj",
    ),
    "vi": (
        "ts ths gs pgs bs ks tp q p đ số tr h mục vd tel st",
        "v.v tr.cn scn",
        "v.v",
    ),
    "id": (
        "jl jln no hlm h gbr tab bab ps psl tel dr prof ir drs hj sdr bpk pkl a.n d.a u.p mis yth kec kab",
        "dll dsb dst rp sm",
        "dll dsb dst",
    ),
    "ms": (
        "jln no hlm m.s rjh bab tel dr prof ir hj sdr en pn cth a.l a.p yb",
        "dll dsb rm",
        "dll dsb",
    ),
    "tl": (
        "g gng bb dr prof kgg st no p tel",
        "atbp",
        "atbp",
    ),
    "sw": (
        "bw bi dkt prof mh uk tel k.m n.k",
        "n.k",
        "",
    ),
    "af": (
        "mnr mev mej dr prof ds nr bl fig hfst tel bv d.w.s o.a ca maks min st",
        "ens e.d.m vk nk",
        "ens",
    ),
    "cy": (
        "mr mrs dr yr athro rhif t tud ff tel e.e h.y",
        "ayyb",
        "",
    ),
    "ga": (
        "dr uas uimh lch fch guth m.sh",
        "srl",
        "srl",
    ),
    "eo": (
        "s-ro s-ino d-ro prof n-ro p ĉap tel ekz t.e",
        "ktp k.a",
        "ktp",
    ),
    "ar": (
        "د أ م ص ج ط ت",
        "إلخ هـ م",
        "",
    ),
    "fa": (
        "د ص ج ت",
        "ق.م",
        "",
    ),
    "hi": (
        "डॉ श्री प्रो पं कु सं क्र पृ रु मो",
        "ई",
        "",
    ),
    "mr": (
        "डॉ श्री प्रा पं कु सं क्र पृ रु",
        "इ",
        "",
    ),
    "ne": (
        "डा श्री प्रा पं नं पृ रु",
        "",
        "",
    ),
    "bn": (
        "ডা ড মো মোঃ প্রফে নং পৃ",
        "",
        "",
    ),
    "te": (
        "డా శ్రీ ప్రొ నం పే రూ",
        "",
        "",
    ),
    "ta": (
        "திரு டாக் பேரா எண் பக் ரூ",
        "",
        "",
    ),
    "kk": (
        "көш д пәт б сур кест тел проф акад мыс т.б",
        "т.б ж теңге млн млрд",
        "т.б",
    ),
}
