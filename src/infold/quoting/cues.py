"""Words that tell something about a sentence in several languages, in classes. Pure."""

from __future__ import annotations

import re
from itertools import chain

CLASSES = {
    "never": "never nie niemals keinesfalls jamais nunca jamás 从不 绝不 千万别 别再 永远不 一律不 | no more, nicht mehr, nie wieder, nie mehr, plus jamais, nunca más, "
    "nunca mais, de jeito nenhum, under no circumstances, auf keinen fall, no way",
    "always": "always immer stets toujours siempre sempre 总是 一直 一律 每次 永远 | every time, jedes mal, jedesmal, cada vez, toda vez, à chaque",
    "every": "every each daily weekly monthly mondays tuesdays wednesdays thursdays fridays saturdays sundays weekends weekdays jeden jede jedes täglich montags dienstags "
    "mittwochs donnerstags freitags samstags sonntags wöchentlich chaque tous toutes todos todas cada toda diario 每天 每周 每个 每次 每月 每晚 | any time, tous les, todos los, todas las, todo dia",
    "must": "must mustn't has have need needs required muss müssen musst müsste darf dürfen soll sollen braucht brauche faut doit dois doivent falta debe debo deben hay tiene tengo tenemos preciso precisa deve "
    "tem tenho 必须 得 要 需要 应该 | has to, have to, had to, got to, need to, needs to, il faut, hay que, tiene que, tengo que, tem que, tenho que, precisa de",
    "cannot": "can't cannot couldn't unable kann darf nicht peux peut puedo puede posso pode 不能 不可以 没法 不行 不许 | can not, not allowed, kann nicht, darf nicht, ne peut, "
    "ne peux, peut pas, peux pas, no puede, no puedo, no se, não pode, não posso, não dá",
    "not": "not no don't doesn't didn't won't isn't aren't wasn't nothing nobody none without nor nicht kein keine keinen keiner keinem nichts niemand ohne ne pas rien aucun aucune "
    "sans no ni nada nadie sin não nem nenhum nenhuma sem 不 没 没有 别 不要 无",
    "dont": "don't dont stop avoid skip leave drop lass lasst weglassen évite évitez arrête evita evite 别 不要 不用 别给 别用 | please don't, bitte nicht, bitte kein, bitte keine, "
    "do not, no me, não me, pas de, nada de, no quiero, não quero, je veux pas",
    "only": "only just solely exclusively nur ausschließlich bloß seulement uniquement juste que solo sólo solamente só apenas somente 只 只能 只要 仅 光",
    "want": "want wants wanted wish wishes would'd like will möchte will wollen will hätte wünsche veux voudrais souhaite aimerais quiero quisiera gustaría quero queria gostaria "
    "想 想要 希望 要 | would like, i'd like, i want, i'd rather, je veux, hätte gern, me gustaría",
    "prefer": "prefer prefers preferred rather favourite favorite like likes love loves enjoy enjoys lieber bevorzuge mag liebe gern gerne préfère préférons adore aime "
    "prefiero prefiere encanta gusta prefiro prefere adoro gosto gosta 喜欢 更喜欢 宁愿 宁可 最爱 爱吃 | rather than, would rather, i'd rather, plutôt que, plutôt, mejor",
    "dislike": "hate hates dislike dislikes loathe annoys annoying mad hasse hasst nervt déteste déteste énerve odio odia molesta odeio detesto 讨厌 不喜欢 受不了 烦 不爱 | can't stand, "
    "kann nicht leiden, no soporto, não suporto, fed up",
    "please": "please pls plz bitte merci s'il svp por favor 请 麻烦 | por favor, s'il te, s'il vous, could you, can you",
    "thanks": "thanks thank thx cheers ta danke dankeschön merci gracias obrigado obrigada valeu 谢谢 多谢 感谢 | thank you, vielen dank",
    "sorry": "sorry apologies apologize oops entschuldigung entschuldige tut désolé désolée pardon perdón perdona lo desculpa desculpe 对不起 抱歉 不好意思",
    "praise": "great perfect awesome lovely amazing wonderful brilliant nice cool glad proud congrats congratulations wow haha lol yay absolutely super toll prima klasse genial génial "
    "parfait bravo chouette perfecto genial estupendo qué ótimo ótima perfeito legal maravilha 太好了 很好 棒 加油 哈哈 恭喜 | good luck, well done, good idea, that's great, sounds good, so glad, "
    "take care, viel glück, bon courage, buena suerte, boa sorte, not alone",
    "yes": "yes yeah yep ok okay sure right exactly agreed ja jep klar genau stimmt oui ouais ok d'accord sí vale claro sim certo 好 好的 行 对 嗯 可以 是的",
    "me": "i me my mine myself i'm i've i'll i'd im ich mich mir mein meine meinen meiner meinem je j'ai moi mon ma mes yo mi mis me eu meu minha meus minhas 我 我的 咱",
    "us": "we us our ours we're we've wir uns unser unsere nous notre nos on nosotros nuestro nuestra nós nosso nossa 我们 我家 咱们",
    "you": "you your yours you're you've you'll du dich dir dein deine ihr euch sie tu te toi ton ta tes vous votre tú tu te usted su você te seu sua 你 您",
    "person": "he she him her his hers they them their er ihm ihn sie ihr il elle lui leur él ella le les ele ela dele dela 他 她 他们",
    "family": "wife husband partner mother mum mom dad father son daughter kid kids child children sister brother aunt uncle cousin grandma grandpa grandmother grandfather gran baby girlfriend "
    "boyfriend parents dog cat friend boss colleague frau mann mutter mama papa vater sohn tochter kind kinder schwester bruder oma opa freund freundin hund katze kollege chefin femme mari mère "
    "maman père fils fille enfants soeur sœur frère oncle tante ami amie chien chat mujer marido esposa madre mamá padre papá hijo hija hijos hermana hermano abuela abuelo perro gato amigo "
    "mulher esposo mãe pai filho filha filhos irmã irmão avó avô cachorro sogra tia tio 妈 爸 爸爸 妈妈 外婆 奶奶 爷爷 老公 老婆 儿子 女儿 孩子 姐姐 妹妹 哥哥 弟弟 猫 狗 朋友 同事",
    "health": "allergic allergy allergies coeliac celiac diabetic diabetes asthma pregnant vegetarian vegan gluten lactose nut nuts medication pills tablet dose doctor hospital surgery knee "
    "pain blood insulin wheelchair migraine hearing allergisch allergie zöliakie laktose schwanger vegetarisch arzt tabletten knie rücken schmerzen allergique asthme enceinte végétarienne médecin "
    "genou douleur alérgico alérgica alergia celíaca celíaco embarazada vegetariana médico rodilla dolor alérgica grávida remédio joelho dor pressão 过敏 糖尿病 血压 药 医生 医院 素食 怀孕 膝盖 疼",
    "money": "budget cost costs price paid pay euros euro pounds dollars cheap expensive deposit fee rent refund invoice kosten kostet preis bezahlt miete kaution euro rechnung coûte prix loyer facture "
    "budget payé cuesta precio pagar alquiler presupuesto factura custa preço pagar aluguel orçamento reais 预算 钱 元 块 价格 房租 押金",
    "time": "today tomorrow yesterday tonight monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december morning evening "
    "week month year heute morgen gestern montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember woche monat jahr aujourd'hui demain hier lundi "
    "mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août septembre octobre novembre décembre semaine mois hoy mañana ayer lunes martes miércoles jueves viernes "
    "sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre semana mes hoje amanhã ontem segunda terça quarta quinta sexta janeiro fevereiro março "
    "maio junho julho setembro outubro novembro dezembro mês 今天 明天 昨天 星期 周一 周二 周三 周四 周五 周六 周日 上午 下午 晚上 号 月",
    "until": "until till by before after deadline due latest from since bis spätestens ab vor nach seit frist jusqu'à avant après depuis hasta antes después desde plazo até depois prazo desde "
    "之前 之后 以前 以后 从 到 截止 最晚 | at the latest, no later",
    "limit": "max maximum min minimum least most limit over under above below more less than within höchstens mindestens maximal über unter weniger mehr plus moins maximum máximo mínimo más menos "
    "mais menos 最多 最少 至少 不超过 以内 以上 以下 | at most, at least, no more, not more, up to, au plus, au moins, como mucho, al menos, no máximo, pelo menos",
    "if": "if when whenever unless once wenn falls sobald außer si quand lorsque dès sauf cuando salvo se quando caso 如果 要是 只要 除非 一旦 的话",
    "call": "call called name names named nickname heiße heißt nenn nennen name appelle appelles m'appelle appelez nom llamo llama llámame nombre chamo chama nome 叫 名字 称呼 叫我",
    "work": "work works job teacher engineer nurse developer manager retired study studying student arbeite arbeitet beruf lehrerin lehrer rente studiere travaille métier infirmière professeur retraite "
    "trabajo trabaja enfermera profesora jubilado estudio trabalho trabalha professora enfermeira 工作 上班 老师 护士 工程师 退休 学生",
    "live": "live lives moved born years old from wohne wohnen wohnt geboren alt habite habitons vis ans vivo vive vivimos años nací moro mora anos nasci 住 岁 出生",
    "have": "have has had got own habe haben hat hatte ai as a avons tengo tiene tenemos tenho tem temos 有",
    "be": "am is are was were i'm it's that's bin ist sind war suis est sont était soy es son estoy está era sou é são estou está 是 在",
    "decide": "decided decide settled agreed choose chose chosen booked ordered confirmed fixed final go take deal entschieden beschlossen gebucht bestellt nehmen nehme steht abgemacht décidé choisi "
    "réservé prends prenons va decidido elegido reservado quedamos cojo confirmado decidimos decidi escolhi fechado reservei fica combinado 决定 定了 选 就 订了 确定 买了 | let's go, "
    "go with, going with, we'll take, i'll take, das nehmen, on prend, c'est décidé, nos quedamos",
    "change": "instead changed change moved now actually correction scrap update new rather statt stattdessen doch geändert jetzt neu verschoben finalement plutôt changé désormais maintenant en cambio "
    "ahora cambio cambiado ya mejor agora mudou mudei troca novo nova 改 改成 换 现在 以后 不是 其实 | make that, instead of, no longer, not any, from now, anymore, any more, from now on, ab jetzt, "
    "ab sofort, à partir, a partir, en vez, em vez, de agora, ya no",
    "remember": "remember note notice forget keep mind merk merken vergiss denk note retiens rappelle souviens oublie recuerda acuérdate apunta olvides lembra anota esquece 记住 记得 记一下 别忘 注意",
    "rule": "rule rules policy agreement promise sacred regel regeln abmachung règle règles regla reglas norma regra regras 规矩 规则 原则",
    "write": "write writing answer answers reply text message mail email letter list table bullet bullets emoji emojis english words tone sentence sentences paragraph format schreib schreiben antwort "
    "brief liste tabelle stichpunkte satz sätze écris écrire réponse réponses liste tableau mail lettre phrases escribe escribir respuesta respuestas lista tabla correo frases escreve escrever "
    "resposta lista tabela mensagem texto 写 回复 回答 表格 列表 消息 符号 语气 句",
    "do": "done did finished sent saved added made created updated cancelled removed erledigt geschickt gemacht fertig gespeichert fait envoyé ajouté terminé hecho enviado añadido guardado feito mandei "
    "enviei salvei 完成 做好 发了 加了 弄好",
    "will": "will i'll we'll shall going werde wird werden vais va allons voy va vamos vou vai 会 将 | going to",
    "think": "think guess maybe perhaps probably might could suppose seems vielleicht glaube wahrscheinlich denke könnte peut-être crois pense probablement quizás quizá creo puede talvez acho "
    "parece 也许 可能 大概 觉得 应该 好像",
    "because": "because cause since so therefore weil denn deshalb da parce car donc porque pues así então por 因为 所以",
    "ask": "what which who when where why how was welche wer wann wo warum wie quel quelle qui quand où pourquoi comment combien qué cuál quién cuándo dónde cómo cuánto qual quem quando onde como "
    "quanto 什么 哪 谁 怎么 多少 几 吗 呢",
    "offer": "shall want should would let me if soll möchtest willst veux-tu voulez-vous quieres quer 要不要 需要我 | shall i, do you, would you, want me, let me, if you, soll ich, möchtest du, quieres que, "
    "veux-tu que, quer que",
    "number": "one two three four five six seven eight nine ten eleven twelve half zwei drei vier fünf sechs sieben acht neun zehn deux trois quatre cinq sept huit neuf dix dos tres cuatro "
    "cinco seis siete ocho nueve diez dois duas três quatro cinco sete oito nove dez 一 两 二 三 四 五 六 七 八 九 十 半",
    "thisone": "this that these those it here there today das dies diese hier ça cela ce cette ces ici eso esto este esta aquí isso isto este esta aqui 这 那 这个 那个",
}  # fmt: skip
"""Class -> single words, then after a bar expressions of two or three words with commas between."""

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def _tables() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], re.Pattern[str]]:
    words: dict[str, list[str]] = {}
    pairs: dict[str, list[str]] = {}
    for name, text in CLASSES.items():
        single, _, many = text.partition("|")
        for word in single.split():
            words.setdefault(word, []).append(name)
        for phrase in filter(None, (part.strip() for part in many.split(","))):
            pairs.setdefault(" ".join(phrase.split()[:2]), []).append(name)
    signs = sorted((word for word in words if CJK.match(word)), key=lambda word: (-len(word), word))
    one = {word: tuple(dict.fromkeys(names)) for word, names in words.items()}
    return one, {pair: tuple(dict.fromkeys(names)) for pair, names in pairs.items()}, re.compile("|".join(signs))


WORDS, PAIRS, SIGNS = _tables()
_PAIRED = frozenset(PAIRS)
_LETTERS = re.compile(r"[^\W\d_]+")
# ASCII with a space for all that is no letter, and but for what may stand in a word: much faster than a pattern.
_NO_LETTER = bytes(code if chr(code).isascii() and chr(code).isalpha() else 32 for code in range(256))
_SPACED = bytes(code if chr(code) in "'-" else _NO_LETTER[code] for code in range(256))


def words_of(low: str) -> list[str]:
    """The words of lower-case text."""
    if not low.isascii():
        return WORD.findall(low.replace("’", "'"))
    found = low.encode().translate(_SPACED).decode().split()
    if "'" in low or "-" in low:
        found = [word for part in found for word in ((part,) if part.isalpha() else WORD.findall(part))]
    return found


def letters_of(low: str) -> list[str]:
    """The stretches of letters of a text; "don't" has two."""
    return low.encode().translate(_NO_LETTER).decode().split() if low.isascii() else _LETTERS.findall(low)


def classes(words: list[str], doubles: list[str], signs: str = "") -> list[str]:
    """The classes that words, neighbouring words and a text in Chinese signs belong to, each once."""
    found = dict.fromkeys(chain.from_iterable(filter(None, map(WORDS.get, words))))
    if not _PAIRED.isdisjoint(doubles):
        found.update((f"{name}2", None) for double in doubles for name in PAIRS.get(double, ()))
    if signs:
        found.update((name, None) for sign in SIGNS.findall(signs) for name in WORDS[sign])
    return list(found)
