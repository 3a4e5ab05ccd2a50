"""What a text names exactly: references, files, versions, figures. Pure."""

from __future__ import annotations

import re

_EXTENSIONS = (
    "py|js|ts|tsx|jsx|md|txt|jsonl|json|ya?ml|toml|csv|tsv|pdf|docx?|xlsx?|pptx?|odt|ods|sql|sh|html?|css|go|rs|java|kt|rb|c|h|cpp"
    "|png|jpe?g|gif|svg|webp|heic|mp[34]|mov|wav|log|ini|cfg|conf|env|lock|zip|tar|gz|tgz|ipynb|parquet|db|sqlite|key|pem|ics|eml"
    "|psd|ai|fig|sketch|xd|dwg|stl|step|tex|bib|rtf|epub|xml|plist|gradle|tf|proto|graphql|vue|svelte|swift|dart|php|pl|lua|ex|exs"
)
# Whatever tells one thing from all others: addresses, files, versions, references.
IDENTIFIER = re.compile(
    r"https?://[^\s<>\")\]，。]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    rf"|(?:~?/)?(?:[\w.~-]+/)*[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})\b"
    r"|(?<![\w/])(?:~|\.{1,2})?/(?:[\w.-]+/)+[\w.-]*|(?<![\w/])/(?:etc|var|opt|usr|home|srv|tmp|data|mnt)(?:/[\w.-]+)*"
    r"|\bv\d+(?:\.\d+)*(?:-[\w.]+)?\b|\b\d+\.\d+\.\d+(?:[.-]?\w+)*\b"
    r"|\b[A-Z]{1,6}\d*[-_/#]\d[\w/-]*\b|\b[A-Z]{2,}\d[\w-]*\b|\b[A-Z]{2,}(?:-[A-Z0-9]+)*-\d[\w-]*\b"
    r"|\b(?=[A-Z0-9]{5,12}\b)(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]+\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f-]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b"
    r"|#\d{2,}\b|\b\d{6,}\b|\b\d{2,}(?:-\d{2,}){2,}\b"
)
# Whatever IDENTIFIER finds has one of these in it, and most texts have none.
MAY_IDENTIFY = re.compile(r"[@#/]|[A-Z][A-Z\d]|\d[A-Z]|[A-Z][-_]\d|\.\w|v\d|\d{6}|[0-9a-f]{7}")


_AFTER_HAN = re.compile(r"(?<=[\u3400-\u9fff])(?=[A-Za-z0-9#])|(?<=[A-Za-z0-9])(?=[\u3400-\u9fff])")


def identifiers(text: str) -> list[str]:
    """References, files, versions and addresses, in order, each once."""
    if not MAY_IDENTIFY.search(text):
        return []
    if not text.isascii():
        text = _AFTER_HAN.sub(" ", text)
    return [*dict.fromkeys(found.rstrip(".,;:!?)'") for found in IDENTIFIER.findall(text))]
