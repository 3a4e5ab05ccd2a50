"""What attributes there are: their names, how many values they take, whether they can change. Pure."""

from __future__ import annotations

_SAME = {
    "birth date": "birthday", "birthdate": "birthday", "date of birth": "birthday", "place of birth": "birthplace",
    "year of birth": "birth year", "phone": "phone number", "mobile": "phone number", "mobile number": "phone number",
    "telephone number": "phone number", "cell number": "phone number", "e-mail": "email", "email address": "email",
    "e-mail address": "email", "mail address": "email", "time zone": "timezone", "profession": "occupation",
    "job": "occupation", "job title": "occupation", "kids": "children", "kid": "children", "child": "children",
    "home address": "address", "surname": "last name", "family name": "last name", "blood group": "blood type",
    "full name": "name", "mother tongue": "native language", "first language": "native language",
}  # fmt: skip

# The last word of an attribute that has one value at a time.
_SINGLE_HEADS = frozenset(
    "budget deadline birthday birthdate birthplace phone mobile email e-mail address name surname nickname age price cost "
    "rent salary fee rate height weight size version timezone zone date time limit capacity pin password passcode code "
    "number colour color type group title role job occupation profession username handle currency pronouns status location "
    "venue target headcount employer tongue extension iban id url quota allowance deposit total dosage dose gate seat "
    "platform postcode zip duration length width threshold port".split()
)
# Those whose value may be any word; of the others only figures and names are values.
_FREE_HEADS = frozenset(
    "colour color pronouns status job occupation profession title role tongue currency password passcode type group".split()
)
_IDLE = frozenset(["new", "current", "actual", "latest", "updated", "correct"])
_CHOSEN = ("favourite ", "preferred ", "native ", "first ")
# What people have many of: one of these says nothing against another.
MANY = frozenset("likes prefers allergy language is eats drinks uses drives plays owns wears smokes origin".split())
# What is true of a person once and for all.
FIXED = frozenset(
    ["birthday", "birthplace", "birth year", "blood type", "birth name", "maiden name", "native language"]
)
BIOGRAPHICAL = FIXED | frozenset(
    "home employer occupation name spouse children language origin age address email nickname timezone pronouns height weight "
    "siblings brothers sisters sons daughters cats dogs grandchildren is drives plays owns wears smokes".split()
) | {"marital status", "phone number", "last name", "first name", "form of address", "shoe size"}  # fmt: skip
TASTES = frozenset(["likes", "dislikes", "prefers"])
CHOICE = "choice"
NOT = "not "

# One has one of these; of the others one may have several, and of the last kind nobody can tell which is meant.
_SOLE = frozenset(
    "wife husband partner spouse girlfriend boyfriend fiancé fiancée fiance fiancee mother father mum mom dad boss manager "
    "landlord landlady company employer family household ex-wife ex-husband mother-in-law father-in-law".split()
)
_FEW = frozenset(
    "brother sister son daughter child kid grandmother grandfather grandma grandpa grandson granddaughter baby toddler "
    "brother-in-law sister-in-law stepson stepdaughter dog cat doctor dentist therapist team".split()
)
_CROWD = frozenset(
    "friend colleague coworker co-worker neighbour neighbor cousin aunt uncle nephew niece client customer student pupil "
    "patient teammate roommate flatmate acquaintance employee".split()
)


def relation(word: str) -> str:
    """ "sole", "few" or "crowd" for a word such as "wife", "sister" or "friend"; empty for any other."""
    low = word.casefold()
    return "sole" if low in _SOLE else "few" if low in _FEW else "crowd" if low in _CROWD else ""


def named(phrase: str) -> str:
    """The attribute that a phrase such as "phone" or "favorite color" names; empty for what is none."""
    words = [word for word in phrase.casefold().replace("favorite", "favourite").split() if word not in _IDLE]
    low = " ".join(words)
    if low in _SAME:
        return _SAME[low]
    if not words or len(words) > 4 or not (words[-1] in _SINGLE_HEADS or is_chosen(low)):
        return ""
    return low.replace("color", "colour")


def is_chosen(attribute: str) -> bool:
    """Whether an attribute is what somebody likes best."""
    return attribute.startswith(_CHOSEN)


def is_free(attribute: str) -> bool:
    """Whether any word may be its value."""
    return is_chosen(attribute) or attribute.rpartition(" ")[2] in _FREE_HEADS
