"""The kind of a sentence, where outright words name it. Pure.

Better "fact" than a wrong kind: half of all wishes are said without such words, and that is fine.
"""

from __future__ import annotations

import re

from infold.quoting.cues import letters_of
from infold.quoting.health import is_vital

_READ = 600
"""Characters of a text that are read."""
_USERS = frozenset(("rule", "constraint", "preference", "who", "goal", "decision", "open"))
"""Kinds whose words below are the user's; what assistants promise and settle stands apart."""

_DO = (
    r"(?:use|write|put|send|give|ask|add|call|book|suggest|include|mention|show|tell|edit|push|commit|reply|answer|round|skip|touch|assume"
    r"|recommend|quote|share|delete|change|log|run|remind|propose|print|sign|leave|force|invent|tidy|start|end|format|translate|repeat)\b(?! to this\b)"
)
_STYLE = (
    r"(?:emojis?|emoticons?|exclamation (?:marks?|points?)|em[ -]dashes|bullets?|bullet points|jargon|markdown|small talk|cheering|sermons?"
    r"|calories|abbreviations|sms|phone calls?|leaflets|smileys?|flattery|headers|headings|pies|filler|apologies)"
)
_TONGUE = r"(?:english|german|french|spanish|portuguese|chinese|dutch|italian|deutsch|englisch|französisch|français|anglais|español|inglés|português|inglês)"
_KIN = r"(?:wife|husband|partner|son|daughter|mother|father|mum|mom|dad|brother|sister|aunt|uncle|boss|girlfriend|boyfriend|fiancée?|nephew|niece|cat|dog)"
_JOB = (
    r"(?:nurse|teacher|engineer|developer|doctor|student|lawyer|baker|clerk|driver|designer|illustrator|librarian|interpreter|writer|editor|chef"
    r"|electrician|carpenter|scientist|researcher|manager|accountant|architect|musician|pharmacist|therapist|translator|farmer|freelancer|dancer"
    r"|photographer|analyst|programmer|scheduler|pilot|vet|plumber|retiree|widow|widower|single (?:mum|mom|dad|mother|father))"
)

# Kind: lines of "words one of which must be there :: what the sentence then says". Capitals count where (?-i:…) says so.
_TABLE = {
    "rule": r"""
from going :: ^(?!.*\b(?:s?he|they|mum|mam|mom|dad)\b.*\bfrom now on).*\b(?:from now on|from here on|going forward)\b
always never :: (?:^|[.,;:!?–-] ?|\b(?:and|but|so|please|pls|should|must|also) )(?:always|never|don['’]?t ever) {do}
please pls :: \b(?:please|pls) (?:never|do not|don['’]?t|always|no more)\b(?! (?:reply to this|worry)\b)(?!.*\b(?:yet|today|for now|this time|now)\b)
ever never again :: (?:^|[.,;:!–-] ?|\b(?:and|but|so) )(?:don['’]?t|do not) {do} [\w ]*\bever\b|\bno [\w ]{{2,40}}, (?:ever|never again)\b|(?:^|[.,;:–-] |\b(?:and|but|so) )never (?:a|an|the|on|in|under|after|more|any) \w+
don dont do not :: (?:^|[.,;:!–-] ?|\b(?:and|but|so|also|please) )(?:don['’]?t|do not) {do} (?!me (?:that|you)|him|her\b|them)(?!.*\b(?:yet|today|now|this time|until|till|wait)\b)
no :: (?:^|[.,;:–-] |\b(?:and|but|so) )(?:please )?no [\w/]+(?: [\w/]+){{0,2}},? (?:please|pls)(?=[.,;!]|$)
no without :: (?:^|[.,;:–-] |\b(?:and|but|so|also|please|with) )(?:no(?: more)?|without|zero) {style}\b(?! (?:in|was|were|is) )
call :: ^(?:\W*(?:and|please|just|you can|but|hi|so|also|btw),? )*call me (?-i:[A-Z])[\w.-]+
answer reply respond write talk speak :: (?:^|[.,;:!] |\b(?:please|always|and|only) )(?:answer|reply|respond|write|talk|speak)(?: to me)?(?: always| only)? in {tongue}\b
short brief :: (?:^|[.,;:] |\bkeep (?:your |the )?)(?:short|brief) (?:answers|replies|messages|words|sentences)\b|\b(?:answers|replies|messages) (?:short|brief)\b
stop :: (?:^|[.,;:!] |\bplease |\bcan )(?:stop) (?:using|calling|asking|sending|adding|writing|saying|suggesting|showing|telling|apologi[sz]ing)\b
rule law :: \b(?:house rule|new rule|new law|the rule is|my rule|one rule|standing rule)\b
ask check show see approval :: \b(?:always )?(?:ask|check with|show|let) me(?: see \w+ \w+)?(?: first)? (?:first|before you)\b|\bwithout (?:asking me|my (?:ok|okay|approval))\b
you :: \byou (?:must not|must never|should never|should always|must always|can stop|can drop|may never)\b
künftig zukunft jetzt sofort :: \b(?:künftig|in zukunft|ab (?:jetzt|sofort)|von jetzt an)\b
bitte :: \bbitte (?:immer|nie|niemals|keine?|nicht mehr|nur noch)\b
keine kein ohne :: (?:^|[.,;:] |\b(?:und|bitte|aber) )(?:keine?|ohne) (?:emojis?|ausrufezeichen|floskeln|smileys?|listen|abkürzungen|juristendeutsch|drohungen|fachbegriffe)\b
nenn sag duz antworte schreib :: \b(?:nenn mich|duz mich|sag (?:ruhig )?(?:du|\w+ zu mir))\b|\b(?:antworte?|schreib\w*)(?: mir)?(?: bitte)?(?: immer| nur)? auf {tongue}\b
immer nie niemals :: (?:^|[.,;:!] |\b(?:und|aber) )(?:immer|nie|niemals) (?:nur |mit |ohne |\w+ )?\w+en\b[.!]?$
désormais dorénavant maintenant avenir :: \b(?:désormais|dorénavant|à partir de maintenant|à l['’]avenir)\b
toujours jamais :: (?:^|[.,;:!] |\b(?:et|mais) )(?:ne |n['’])?(?:réponds?|écris|mets|utilise|propose|donne|envoie|arrondis|parle|appelle)(?:ez)?(?:[ -]moi)? (?:toujours|jamais)\b
pas sans plus :: (?:^|[.,;:] |\b(?:et|mais|surtout) )(?:pas d['’]|pas de |plus d['’]|plus de |sans )(?:emojis?|smileys?|émojis?|listes|jargon|anglicismes|points? d['’]exclamation|baratin|blabla)\b
appelle tutoie tutoyer réponds répondez écris :: \b(?:appelle[zs]?[- ]moi (?-i:[A-ZÀ-Ý])|tutoie[- ]moi|on se tutoie|(?:réponds|répondez|écris)(?:[- ]moi)? (?:toujours )?en {tongue})
adelante ahora :: \b(?:de ahora en adelante|a partir de ahora|en adelante)\b
nunca siempre no :: (?:^|[.,;:!¡] |\b(?:y|pero|favor) )(?:nunca|no) (?:me |lo )?(?:uses|pongas|llames|mandes|escribas|digas|hables|propongas|redondees|inventes|recomiendes)\b|\b(?:ponlo|ponme|dime|usa|escribe|responde) siempre\b
sin :: (?:^|[.,;:] |\b(?:y|pero) )sin (?:emojis|emoticonos|exclamaciones|jerga|rodeos|tecnicismos)\b
llámame tutéame responde respóndeme contesta contéstame escribe :: \b(?:llámame (?-i:[A-ZÀ-Ý])|tutéame|(?:respóndeme|contéstame|responde|contesta|escribe) (?:siempre )?en {tongue})
diante agora frente :: \b(?:de agora em diante|a partir de agora|daqui (?:pra|para a?) ?frente)\b
nunca não sempre :: (?:^|[.,;:!] |\b(?:e|mas|favor) )(?:nunca|não) (?:me )?(?:use|usa|coloque|mande|manda|escreva|fale|fala|chame|ponha|arredonde|sugira|invente)\b
sem :: (?:^|[.,;:] |\b(?:e|mas) )sem (?:emojis?|carinhas?|exclamaç\w+|enrolação|jargão)\b
chama chame chamar responda responde escreva :: \b(?:me cham[ae] de|pode me chamar de|(?:responda|responde|escreva)(?: sempre)? em {tongue})
""",
    "constraint": r"""
vegan vegetarian deaf blind pregnant celiac coeliac diabetic eat drink :: \bi(?:['’]m| am) (?:an? )?(?:vegan|vegetarian|deaf|blind|pregnant|celiac|coeliac|diabetic)\b|\bi (?:don['’]t|do not|can['’]t|cannot) (?:eat|drink)\b
allergic allergy allergies intolerant coeliac celiac vegetarian vegan lactose wheelchair :: \b(?:allergic to|allerg(?:y|ies) to|intolerant|(?:is|am|are|['’]s|['’]m|['’]re) (?:a )?(?:strictly )?(?:coeliac|celiac|vegetarian|vegan|lactose[ -]intolerant)|uses? a wheelchair|in a wheelchair)\b
can cant cannot :: \bi (?:can['’]?t|cannot|can not) (?:eat|drink|swim|drive|lift|climb|hear|afford|tolerate|have (?:milk|gluten|dairy|nuts|eggs))\b
budget ceiling limit cap :: \b(?:my|our|the|total) (?:\w+ )?(?:budget|ceiling|spending limit|limit|cap) (?:for [\w ]+ )?(?:is|are|stays|['’]s)\b(?! (?:ok|fine|good|right|great)\b)|\bbudget['’]s\b|\bbudget of\b
more most latest later tops max maximum over :: \b(?:no|not) (?:more|later|longer) than (?:\d|[€$£]|a |one|two|three|half)|\bat the latest\b|\b\d+[\w€$£ ]*,? (?:tops|max|maximum|at most)\b|\bat most (?:\d|[€$£]|one|two|three|four|five|six)\w*
deadline due :: \b(?:the|my|our|new) (?:\w+ )?deadline (?:is|moved|stays|now|for)\b|\bdeadline:|\b(?:is|are) due (?:on|by|thurs|mon|tues|wed|fri)
by :: \b(?:has|have|must|needs?)(?: to)? be (?:in|done|ready|back|gone|finished|paid|out|submitted|delivered)\b[\w ,]*? (?:by|before) (?:\d|the \d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|tomorrow)
allergisch allergie zöliakie laktoseintolerant vegetarier vegetarierin veganer veganerin asthma vegan vegetarisch :: \b(?:allergisch (?:gegen|auf)|allergie gegen|(?:hat|habe|hab) (?:asthma|zöliakie|eine allergie)|laktoseintolerant|bin (?:vegetarier\w*|vegan\w*))\b
budget höchstens maximal spätestens frist abgabefrist mehr über :: \b(?:mein|unser|das) budget (?:ist|liegt|beträgt)\b|\b(?:höchstens|maximal|nicht mehr als|nicht über) \d|\bspätestens (?:am|bis|zum|\d)|\b(?:die|meine) (?:abgabe)?frist (?:ist|endet|läuft)\b
allergique allergie intolérant intolérante cœliaque végétarien végétarienne :: \b(?:allergique (?:à|au|aux)|allergie (?:à|au|aux)|intolérante? (?:à|au)|(?:suis|est) (?:cœliaque|végétarien\w*|végane?))(?!\w)
budget maximum tard plus délai limite :: \b(?:mon|notre|le) budget (?:est|c['’]est|max\w*)\b|\bpas plus de \d|\bau plus tard\b|\b\d[\d ]*(?:€|euros?)? (?:au )?maximum\b|\bdate limite\b
peux mange bois :: \bje (?:ne )?(?:peux|mange|bois) pas (?:manger|boire|de |d['’])
alérgico alérgica alergia celíaco celíaca intolerante vegetariano vegetariana :: \b(?:alérgic[oa] (?:a|ao|à|al)|alergia (?:a|ao|à|al)|(?:es|soy|é|sou) (?:celíac[oa]|intolerante|vegetarian[oa]|vegan[oa]))\b
presupuesto máximo mucho más tardar límite puedo plazo :: \b(?:mi|nuestro|el) presupuesto (?:es|son)\b|\b(?:como máximo|a más tardar|no más de \d|fecha límite)|\bcomo mucho \d|\bno puedo (?:comer|beber|gastar)\b
orçamento máximo prazo posso :: \b(?:meu|nosso|o) orçamento (?:é|são)|\bno máximo \d|\b\d+ no máximo\b|\bo prazo (?:é|vai|termina)|\bnão posso (?:comer|beber|gastar)\b
""",
    "preference": r"""
prefer rather :: \b(?:i|we)(?: really| still| always| also| generally| usually)? prefer\b|\b(?:i|we)(?:['’]d| would)(?: much| really| still)? (?:rather|prefer)\b
like likes love hate dislike enjoy adore detest stand :: (?:^|[.,;:!(–-] ?|\b(?:and|but|because|also|so|that|since|yeah|honestly|which|as) )i(?: really| also| do| just| still| absolutely| kind of| kinda|['’]ve always)*(?: don['’]?t| do not)?(?: really| much)? (?:like|love|hate|dislike|enjoy|adore|detest|can['’]?t stand|loved)\b(?! (?:it|that|this|the idea|you|your|how|what|to (?:know|hear|see)|when|every one)\b)
stand :: \bi (?:can['’]?t|cannot) stand\b
favourite favorite fan :: \bmy (?:all-time |absolute )?favou?rite\b|\bi['’]m (?:not )?(?:really )?a (?:big |huge )?fan of\b|^not a (?:big )?fan of\b
mag hasse liebe bevorzuge lieber lieblings :: \b(?:ich (?:mag|hasse|liebe|bevorzuge)|(?:mag|hasse|liebe) ich|(?:ist|wäre|wär) mir \w* ?lieber|mir (?:ist|wäre|wär) [\w ]*lieber)\b|\bich [\w ]{{0,30}}lieber\b|\bmein\w* lieblings
préfère préférerais déteste adore aime :: \bje (?:préfère|préférerais|déteste|n['’]aime pas|adore)\b|\bj['’](?:aime|adore)(?! (?:bien )?(?:ça|votre|ton|l['’]idée)\b)\b
prefiero odio encanta encantan gusta gustan soporto :: \bprefiero\b|\bodio\b|\bno soporto\b|(?:^|[.,;:] |\b(?:y|a mí|no|que|pero) )me (?:gustan?|encantan?)(?! (?:la idea|tu|esto|eso|así))\b
prefiro odeio detesto adoro gosto :: \bprefiro\b|\b(?:odeio|detesto|adoro)\b(?! (?:isso|a ideia))|\b(?:eu|não|e|mas|só) gosto (?:de|do|da|mais)\b|^gosto (?:de|do|da)\b
""",
    "who": r"""
name :: \bmy (?:full |first |last |real )?name(?:['’]s| is)\b
m im am :: (?:^|[.,;:!] |\b(?:hi|hello|hey|and|but|so|as),? )(?:i['’]?m|i am) (?:also )?(?:an? |the )(?:[\w-]+ ){{0,3}}{job}\b|(?:^|[.!] |\b(?:hi|hello|hey),? )i(?:['’]m| am) (?-i:[A-Z][a-zà-ÿ]+)(?=[ ,.(]|$)(?! (?:and|or) )|\bi['’]m (?:1[3-9]|[2-9]\d)(?=[,.;]|$| and | years)
living live work teach :: \bi (?:\w+ ){{1,6}}for a living\b|\bi (?:live|work|teach|study) (?:in|at|as|for|on) (?:an? |the )?\w+|\bwe live (?:in|on|at)\b|\blives? with (?:me|us)\b|\bi teach (?!till|until|on|from|at)\w+
my our :: \b(?:my|our) (?:\w+ )?{kin} (?-i:[A-ZÀ-Ý])[\w'’-]+(?=[.;)]|,| (?:is|and|has|lives|works|reads|was)\b|$)|\b(?:my|our) {kin}(?:['’]s name is| is called| is named|['’]s called| is an? {job}| works (?:as|at|in)| lives (?:in|at))\b|\bmy {kin} is \d
old aged :: \b(?:is|['’]s|['’]m|am|turned|turns) \d+ years old\b|\baged \d
heiße heisse name :: \bich hei(?:ß|ss)e\b|\bmein name ist\b
wohne lebe arbeite bin :: \bich (?:wohne|lebe) (?:in|bei|mit|seit)\b|\bich arbeite (?:als|bei|in)\b|\bich bin (?:eine? |die |der )?(?-i:[A-ZÄÖÜ])[a-zäöüß]+(?:in|er|ist|eur|arzt|anwalt|rentner)\b|\bich bin \d\d(?=[,. ])
frau mann tochter sohn mutter vater bruder schwester freundin :: \bmeine? (?:frau|mann|tochter|sohn|mutter|vater|bruder|schwester|freundin) (?:heißt|(?-i:[A-Z][a-zäöü]+)(?=[,.]| (?:ist|hat|und|arbeitet|wohnt)\b))
appelle habite vis travaille moi suis :: \bje m['’]appelle\b|\bj['’]habite\b|\bje vis (?:à|en|avec)(?!\w)|\bje travaille (?:à|chez|comme|dans|pour)(?!\w)|\bmoi c['’]est (?-i:[A-Z])|\bje suis (?:infirmi\w+|prof\w*|boulang\w+|ingénieure?|étudiante?|graphiste|médecin|avocate?|comptable|retraitée?)(?!\w)
femme fille mère sœur mari fils père frère :: \bm(?:a|on) (?:femme|fille|mère|sœur|mari|fils|père|frère),? (?:s['’]appelle|(?-i:[A-ZÀ-Ý]))
llamo soy vivo trabajo tengo :: \bme llamo (?-i:[A-ZÁ-Ú])|\bsoy (?-i:[A-ZÁ-Ú][a-zá-ú]+)(?=[,.]|$| de)|\bsoy (?:profe\w*|enfermer[oa]|médic[oa]|ingenier[oa]|estudiante|abogad[oa]|diseñador\w*|cociner[oa])\b|\bvivo (?:en|con)\b|(?:^|[,.;¡] |\by )trabajo (?:en|de|como|para)\b|\btengo \d\d años\b
mujer marido hijo hija hermano hermana madre padre amiga :: \bmi (?:mujer|marido|hij[oa]|herman[oa]|madre|padre),? (?:se llama|(?-i:[A-ZÁ-Ú]))
chamo nome sou moro trabalho tenho :: \bme chamo (?-i:[A-Z])|\bmeu nome é|\bsou (?:a|o) (?-i:[A-ZÁ-Ú])|\b(?:eu )?sou (?:professora?|enfermeir[oa]|médic[oa]|engenheir[oa]|estudante|advogad[oa]|padeir[oa])\b|\bmoro (?:em|no|na|com)\b|(?:^|[,.;] |\beu )trabalho (?:em|no|na|como)\b|\btenho \d\d anos\b
esposa mulher marido filha filho mãe irmã irmão pai :: \b(?:minha|meu) (?:esposa|mulher|marido|filh[oa]|mãe|irmã|irmão|pai),? (?:se chama|(?-i:[A-ZÁ-Ú]))
""",
    "goal": r"""
goal aim dream :: \b(?:my|our|the) (?:main |big |real )?(?:goal|aim|dream) (?:is|was|['’]s|for)\b|\bthat['’]s the goal\b
want :: \b(?:i|we)(?: really| just| also|['’]ve always)? want(?:ed)? to (?!know\b|ask\b|see\b|hear\b|say\b|thank\b|tell\b|talk\b|check\b|show\b|share\b|be clear\b|look at\b|try something\b)\w+
trying planning plan plans hoping aiming :: \b(?:i['’]?m|we['’]?re|i am|we are)(?: also| still)? (?:trying|planning|hoping|aiming|saving|training) (?:to|for|on|a)\b(?! (?:find|figure) out\b)|\b(?:i|we) plan (?:to|on)\b
like love :: \b(?:i|we)(?:['’]d| would) (?:really )?(?:like|love) to (?!know\b|ask\b|see\b|hear\b|say\b|thank\b|report\b|talk\b|check\b|book\b|have a look\b|return\b|cancel\b|change\b)\w+
ziel will möchte möchten wollen vor plane planen :: \b(?:mein|unser) ziel\b|\b(?:ich (?:will|möchte|plane)|wir (?:wollen|möchten|planen)) (?!wissen|fragen|sagen|nur|dir|dich)\w+[\w ,]*\w+en\b|\bich hab\w* vor\b
but objectif voudrais veux veut aimerais compte voulons :: \b(?:mon|notre) (?:but|objectif)\b|\b(?:je (?:veux|voudrais|compte)|on (?:veut|voudrait|compte)|nous voulons|j['’]aimerais) (?!savoir|dire|voir|te |vous |que )\w+(?:er|ir|re|oir)\b
quiero queremos gustaría meta objetivo pienso planeo :: \b(?:mi|nuestr[oa]) (?:meta|objetivo)\b|\b(?:quiero|queremos|me gustaría|nos gustaría|planeo|pienso) (?!saber|preguntar|decir|ver|que)\w+[aei]r(?:me|lo|la|nos)?\b
quero queremos gostaria meta objetivo pretendo querendo :: \b(?:minha|nossa|meu|nosso) (?:meta|objetivo)\b|\b(?:quero|queremos|gostaria de|pretendo|(?:tô|estou|tou) querendo) (?!saber|perguntar|dizer|ver|que)\w+[aeio]r\b
""",
    "decision": r"""
decided settled agreed decision :: \b(?:i|we)(?:['’]ve| have)?(?: all| finally)? (?:decided|settled|agreed)\b|\bsettled on\b|^\W*(?:decision|decided|settled):|^\W*agreed[:,] \w|\bit['’]s (?:decided|settled)\b
let lets go going stick :: \blet['’]?s (?:go (?:with|for)|take|stick (?:with|to)|settle|make it|use|keep|drop)\b|\b(?:i|we)(?:['’]ll| will|['’]re| are|['’]m| am) (?:go(?:ing)? (?:with|for)|stick(?:ing)? (?:with|to))\b
take :: \b(?:i|we)(?:['’]ll| will) take (?:(?:the|option|both|room|unit)\b|(?:it|that one)\b)|\bwe take (?:the\b|(?-i:[A-Z]))
make change scrap :: (?:^|[.,;:] |\b(?:no|ok|so|and|actually),? )make (?:it|that|them) (?:\d|[€$£])|(?:^|[.,;:] |\bok,? )scrap (?:the|that|it)\b|^\W*change of plan\b
nehmen nehme entschieden beschlossen abgemacht bleiben :: \b(?:wir nehmen|ich nehme|nehmen wir|ich nehm) (?:den|die|das|lieber)\b|(?<!nicht )\b(?:entschieden|beschlossen)\b|^abgemacht\b|\bwir bleiben bei\b
part prend prends garde tranché décidé choisi va :: \bon (?:part sur|prend (?:le|la|les)|garde (?:le|la|les))\b|\b(?:on a|j['’]ai|nous avons) (?:tranché|décidé|choisi)\b|^\W*(?:ok |allez )?va pour\b|\bje prends (?:le|la|les)\b|\bc['’]est décidé\b
decidido decidimos quedo quedamos vamos :: \b(?:hemos|he) decidido\b|\bdecidimos\b|\b(?:me quedo|nos quedamos) con\b|\bquedamos en\b|\bvamos con (?:el|la|los|las)\b
decidi decidimos fechado combinado fico ficamos :: \b(?:decidi|decidimos|fica decidido)\b|^\W*(?:fechado|combinado)\b|\b(?:fico|ficamos|vou ficar) com\b
""",
    "open": r"""
remind forget poke :: \bremind me\b|\bdon['’]?t let me forget\b|\bhold me to it\b
ll ill il will haven :: \b(?:i|we)(?:['’]?ll| will) (?:also |then |just )?(?:send|check|ask|call|ring|bring|write|email|mail|pay|chase|find out|look into|get back|let you know|tell you|post|book|confirm|report|measure|order|sign|submit|upload|follow up|talk to|speak to|pick|drop|make the|do (?:it|that|this) (?:by|on|tomorrow|tonight))\b
need needs have has got still must :: \b(?:i|we)(?: still| also|['’]ve (?:still )?got)? ?(?:need|have|needs|must)? to (?:be back|call|ask|send|check|find|book|pay|ring|write|get|make|fix|buy|finish|decide|tell|order|sign|sort|renew|move|do)\b|\bstill (?:open|pending|undecided|to do)\b|\b(?:we|i) haven['’]?t (?:decided|heard|got)\b
todo do :: \bto-?do:
erinner erinnere :: \berinnere? mich\b
muss müssen frag frage ruf rufe schick schicke kümmer kümmere melde hol offen aus :: \b(?:ich muss|muss ich|wir müssen|müssen wir) (?:noch|bis|mal)\b|\bich (?:frage?|rufe?|schicke?|kümmere?|melde|hole?|kläre?) (?!mich (?:ob|was))\w+|\b(?:noch offen|steht noch aus|stehen noch aus)\b
rappelle occupe dois faut reste demande envoie :: \brappelle[- ]moi\b|\bje m['’]occupe d|\bje dois (?:encore )?\w+(?:er|ir|re)\b|\bil (?:faut encore|reste à)(?!\w)|\bje (?:t['’]envoie|vous envoie|demande (?:un|une|le|la))\b
recuérdame tengo pendiente mando falta :: \brecuérdame\b|\btengo que (?:pedir|llamar|pagar|mandar|comprar|preguntar|hacer|ir)\b|\b(?:te|os|le) mando\b|\bqueda pendiente\b
lembra lembre tenho preciso vou falta pendente :: \bme lembr[ae]\b|\btenho que (?:ir|pagar|ligar|mandar|comprar|perguntar|fazer)\b|\bvou (?:mandar|ligar|perguntar|pagar|comprar|ver com)\b|\bfalta só\b|\bpendente\b
""",
    "artifact": r"""
order booking ticket invoice reference ref confirmation case claim tracking serial policy account contract reservation receipt version number protocolo código :: \b(?:order|booking|ticket|invoice|reference|ref|confirmation|case|claim|tracking|serial|policy|account|contract|reservation|receipt|protocolo|código)(?: (?:number|no\.?|nr\.?|id|code))?(?: is|['’]s|:| =)? ?[*`#]*(?-i:(?=[\w/-]{{4}})[A-Z0-9][A-Z0-9/-]*\d[\w-]*)|\bversion (?:is )?\d+\.\d
password code pin number id :: \b(?:password|code|pin|number|id)\b[\w '’-]{{0,40}}? is [*`#]*(?=[\w/-]*\d)[\w/-]{{4,}}
bestellnummer auftragsnummer rechnungsnummer aktenzeichen kundennummer mitgliedsnummer vorgangsnummer numéro référence dossier número referencia localizador :: \b(?:\w+nummer|aktenzeichen|numéro(?: de \w+)?|référence|dossier|número(?: de \w+)?|referencia|localizador)(?: ist| est| es| é|:)? ?[*`#]*(?-i:(?=[\w/-]{{4}})[A-Z0-9][A-Z0-9/-]*\d[\w-]*)
""",
    "state": r"""
booked merged deployed refunded issued confirmed cancelled canceled sent paid signed fixed shipped delivered approved published uploaded released submitted rejected rebooked installed migrated done closed reserved :: \b(?:is|are|was|were|been|got|['’]s|['’]re|['’]ve|have|i|we)(?: now| already| just| all)? (?:booked|merged|deployed|refunded|issued|confirmed|cancelled|canceled|sent|paid|signed|fixed|shipped|delivered|approved|published|uploaded|released|submitted|rejected|rebooked|installed|migrated|closed(?! (?:on|from|to|until|for))|reserved)\b(?!-)|^\W*(?:booked|merged|deployed|refunded|confirmed|cancelled|canceled|sent|paid|signed|fixed|shipped|published|submitted)\b(?! (?:social|search|on)\b|-)
gebucht bezahlt geschickt verschickt bestätigt storniert unterschrieben erledigt eingereicht überwiesen :: \b(?:ist|sind|wurden?|hab|habe|haben) [\w ,.]{{0,40}}?(?:gebucht|bezahlt|geschickt|verschickt|bestätigt|storniert|unterschrieben|erledigt|eingereicht|überwiesen)\b
réservé réservée confirmé confirmée payé payée envoyé signé signée déposé annulé annulée :: \b(?:est|sont|été|ai|a|avons) (?:bien )?(?:réservée?s?|confirmée?s?|payée?s?|envoyée?s?|signée?s?|déposée?s?|annulée?s?)(?!\w)
reservado reservada confirmado confirmada pagado pagada enviado enviada firmado firmada registrada registrado cancelado cancelada :: \b(?:está|están|ha sido|queda|quedado|he|hemos) (?:ya )?(?:reservad[oa]|confirmad[oa]|pagad[oa]|enviad[oa]|firmad[oa]|registrad[oa]|cancelad[oa])\b
pago paga enviado enviada assinado assinada confirmado confirmada cancelado cancelada reservado reservada confirmou :: \b(?:está|estão|foi|foram|tá) (?:já )?(?:pag[oa]|enviad[oa]|assinad[oa]|confirmad[oa]|cancelad[oa]|reservad[oa])\b
""",
}
_CHINESE = {
    "rule": r"以后(?:都|请|别|不要|只)|从现在(?:起|开始)|今后(?:都|请)|永远(?:别|不要)|(?:^|[，。；])请?(?:别|不要)(?:再|总)?(?:用|跟我|叫我|写)|叫我|叫小?.{1,2}就(?:好|行)|用(?:中文|英文|德语|法语)(?:回答|回复|写)|一律(?:用|写)",
    "constraint": r"过敏|预算(?:是|就|最多|只有|不)|最多(?:只?能|不超过)?\d|不(?:能|得|要)?超过\d|(?<!能)不能(?:吃|喝)|最晚|最迟|截止|吃素",
    "preference": r"我(?:比较|更|最|很|也|就)?(?:喜欢|讨厌|偏爱|宁愿|宁可)(?!你|这个)|我(?:也)?不喜欢",
    "who": r"(?:^|[，。；])我(?:叫|姓)(?!你|他|她)|我是.{0,8}(?:老师|护士|医生|工程师|学生|编辑|校对|设计师|程序员|律师|会计)|我住在|我在.{1,8}(?:工作|上班)",
    "goal": r"我们?(?:打算|计划|的目标|希望能)|我们?想(?!想|问|知道|请问|说)\S{2,}|目标是",
    "decision": r"(?:决定|敲定|说定|定下来)了?|(?<!还没)(?<!没)定了|就(?:选|定)(?!哪)\S|那就(?:选|用|按)",
    "open": r"提醒我|我(?:还得|还要|得去|明天去|去问|来联系)|还没(?:定|回|到|交|办|弄)|待定",
    "artifact": r"(?:单号|编号|订单号|收据号|版本号?)[是为:：]?\s?[A-Za-z]*-?\d",
    "state": r"已经?(?:预订|预约|付款|提交|发出|确认|取消|签|完成|安排)|(?:订|办|装|交|付|签|弄)好了|搞定",
}
_PROMISE = re.compile(
    r"\b(?:i|we)(?:['’]ll| will) (?:\w+ )?(?:get back|let you know|remind|follow up|keep you|report back|come back to you|send you|chase|call you|write to you)\b"
    r"|\band get back to you\b|\bi promise\b|\byou['’]ll have (?:it|them|the \w+|an answer) by\b|\bi(?:['’]ll| will) (?:\w+ ){1,8}(?:by|on) (?:mon|tue|wed|thu|fri|sat|sun|the \d)"
    r"|\bich (?:melde mich|erinnere (?:dich|sie)|schicke (?:dir|ihnen)|gebe (?:dir|ihnen) bescheid)\b|\bje (?:reviens vers|te rappelle|vous rappelle|t['’]enverrai|vous enverrai)\b"
    r"|\b(?:te|le) (?:avisaré|recordaré|enviaré)\b|\b(?:te aviso|vou te avisar|te lembro|retorno até)\b|我会(?:提醒|通知|联系|发给|告诉)你",
    re.IGNORECASE,
)
_AGREED = re.compile(r"\b(?:you|we) (?:decided|agreed|chose|settled)\b|^\W*decision:", re.IGNORECASE)
_ASKS = re.compile(
    r"\b(?:can|could|will|would) you\b.*\b(?:(?:by|before|until) (?:\d|the (?:\d|end)|mon|tue|wed|thu|fri|sat|sun|next|tomorrow|tonight|noon)|tomorrow|next week|tonight|remind)|\b(?:kannst du|können sie)\b.*\b(?:bis|morgen|erinner\w*)\b"
    r"|\b(?:peux-tu|pouvez-vous|tu peux)\b.*\b(?:avant|demain|d['’]ici|rappel\w*)\b|\b(?:puedes|podrías)\b.*\b(?:antes|mañana|recordar\w*)\b"
    r"|\b(?:pode|você pode|consegue)\b.*\b(?:até|antes|amanhã|lembrar)\b|(?:能|可以)(?:不能)?.*(?:之前|明天|提醒)",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://[^\s<>]+|(?:^|[\s`(])(?:~|\.{0,2})?/?(?:[\w.-]{1,80}/)+[\w.-]{1,80}\.[a-z]\w{0,4}\b")
_REPORTED = re.compile(
    r"\b(?:s?he|they|it|who|(?!i\b|you\b|we\b)\w+) (?:said|says|say|told|thinks|asked|asks|claims|wrote|writes|reckons|insists|believes|quote[sd]?|meint|sagt|sagte|meinte|schreibt"
    r"|dit|dice|dijo|disse|diz|falou|écrit)\b|\b(?:asked|to ask|asks) (?:if|whether)\b|(?:他|她|妈|爸|师傅)(?:们)?(?:说|讲|觉得)",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"(?:\b(?:not|none|never|until|once|if|when|unless|will be|should be|can be|to be|yet|whether|while|nicht|wenn|sobald|pas|si|quand|cuando|no|não|se|quando)|n['’]t)\b[\w' ’]{0,20}$|没$",
    re.IGNORECASE,
)
_ANY_CHINESE = "中文"  # calls for the patterns in Chinese
# Words of which those patterns want one.
_ASKING = frozenset(
    f"can could will would kannst können peux pouvez puedes podrías pode consegue {_ANY_CHINESE}".split()
)
_PROMISING = frozenset(f"ll will back promise ich je te le retorno {_ANY_CHINESE}".split())
_AGREEING = frozenset("decided agreed chose settled decision".split())
_WISHES = frozenset(["rule", "preference", "constraint"])
_ONE_PIECE = re.compile(
    r"^\W*(?:please |can you |could you )?(?:write|draft|rewrite|translate|summari[sz]e|make|create|compose|generate|shorten|edit|proofread|paint|imagine)\b(?! (?:sure|it a rule))"
    r"|\b(?:in|for|on) this (?!chat|app|project|house|family|conversation)\w+|\bthis (?:letter|mail|e-?mail|text|story|trip|time|one|draft|poem)\b"
    r"|^\W*(?:bitte )?(?:schreib|übersetze|fass)\w*\b(?!.*\b(?:immer|nur|stets)\b)|^\W*(?:écris|traduis|résume|escribe|traduce|resume|escreva|traduza|resuma)\b(?!.*\b(?:toujours|seulement|siempre|solo|sempre|só)\b)",
    re.IGNORECASE,
)
"""A wish inside a request for one piece of work."""
_SPEAKERS = frozenset(
    "i im my we our ich mein meine meinen wir je ai mon ma mes yo soy tengo mi mis eu sou tenho meu minha allergy allergic son daughter".split()
)
_OVER = re.compile(r"\b(?:was|were|war|était|fue|era|foi) [\w ]{0,12}$", re.IGNORECASE)
_HAN = re.compile("[一-鿿]")


def _by_word() -> tuple[list[tuple[str, re.Pattern[str]]], dict[str, list[int]]]:
    """The lines of the table in their order, and for each word the lines it calls for."""
    lines: list[tuple[str, re.Pattern[str]]] = []
    calls: dict[str, list[int]] = {}
    for kind, table in _TABLE.items():
        for line in table.strip().splitlines():
            words, _, pattern = line.partition(" :: ")
            for word in words.split():
                calls.setdefault(word, []).append(len(lines))
            filled = pattern.format(do=_DO, style=_STYLE, tongue=_TONGUE, kin=_KIN, job=_JOB)
            lines.append((kind, re.compile(filled, re.IGNORECASE)))
        lines.append((kind, re.compile(_CHINESE[kind])))
        calls.setdefault(_ANY_CHINESE, []).append(len(lines) - 1)
    return lines, calls


_LINES, _CALLS = _by_word()


def kind_of(text: str, role: str) -> str:
    """The kind that a sentence's own words name, else "fact"; `role` is user, assistant or tool."""
    text = text[:_READ]
    words = set(letters_of(text.lower()))
    if not text.isascii() and _HAN.search(text):
        words.add(_ANY_CHINESE)
    if text.rstrip(" \"'»”)*").endswith(("?", "？")):
        return "open" if role == "user" and words & _ASKING and _ASKS.search(text) else "fact"
    if role == "assistant" and words & _PROMISING and _PROMISE.search(text):
        return "open"
    if role == "assistant" and words & _AGREEING and _AGREED.search(text):
        return "decision"
    for at in sorted({at for word in words & _CALLS.keys() for at in _CALLS[word]}):
        kind, pattern = _LINES[at]
        if role == "user" or kind not in _USERS:
            found = pattern.search(text)
            if found is not None and not _of_others(text[: found.start()], kind):
                return "fact" if kind in _WISHES and _ONE_PIECE.search(text) else kind
    if role == "user" and words & _SPEAKERS and is_vital(text) and _REPORTED.search(text) is None:
        return "constraint"
    return "artifact" if "/" in text and _LINK.search(text) else "fact"


def _of_others(before: str, kind: str) -> bool:
    """Whether what stands before says that the words are somebody else's, or not so yet."""
    if (kind == "state" and _UNSURE.search(before)) or (kind == "constraint" and _OVER.search(before)):
        return True
    if (
        before.count('"') % 2
        or before.count("“") + before.count("„") > before.count("”")
        or before.count("«") > before.count("»")
    ):
        return True
    return kind in _USERS and _REPORTED.search(before) is not None
