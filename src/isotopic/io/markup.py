"""Markup: what is left out of documents that hold HTML, and nothing of those that do not."""

import html
import re

# Elements of HTML, also old ones. A tag of another name is text, such as <version>, unless the
# document closes it.
_ELEMENT = re.compile(
    "a|abbr|acronym|applet|b|bdi|bdo|big|blink|blockquote|br|canvas|center|cite|col|colgroup"
    "|datalist|dd|del|dfn|div|dl|dt|em|embed|fieldset|figcaption|font|frameset|h[1-6]|hgroup|hr"
    "|html|i|iframe|img|ins|kbd|li|marquee|meta|nav|nobr|noframes|noscript|ol|optgroup|p|pre|q|rp"
    "|rt|ruby|s|samp|script|span|strike|strong|style|sub|sup|svg|tbody|td|textarea|tfoot|th|thead"
    "|tr|tt|u|ul|var|wbr"
)

# Elements whose names people also write in brackets to mean "put this here". They are tags if they
# have attributes or are closed.
_ORDINARY_WORD = re.compile(
    "address|area|article|aside|audio|base|body|button|caption|code|data|details|dialog|dir|figure"
    "|footer|form|frame|head|header|image|input|label|legend|link|main|map|mark|menu|meter|object"
    "|option|output|param|picture|progress|search|section|select|slot|small|source|summary|table"
    "|template|time|title|track|video"
)

# Attributes without a value.
_SWITCH = re.compile(
    "async|autofocus|checked|compact|controls|defer|disabled|hidden|ismap|loop|multiple|muted"
    "|nohref|noshade|novalidate|nowrap|open|readonly|required|reversed|selected"
)

# A tag begins with a letter right after the bracket, so that "a < b" and "<name@example.org>" are
# text.
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*(?:[-:][a-z0-9]+)*)((?:[\s/][^<>]*)?)>", re.IGNORECASE)
_DECLARATION = re.compile(r"<!doctype[^<>]*>|<\?xml[^<>]*>", re.IGNORECASE)
_CLOSED = re.compile(r"</([a-z][a-z0-9:-]*)\s*>", re.IGNORECASE)
_IS_PAGE = re.compile(r"\s*<(?:!doctype|html\b|\?xml)", re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/tr|/h[1-6])\b[^<>]*>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-f]+|[a-z][a-z0-9]*);", re.IGNORECASE)
_SPACES = re.compile(r"[ \t]+")
_BLANK_LINES = re.compile(r"\s*\n\s*\n\s*")

# Comments, scripts and styles are left out with their content.
_HIDDEN = re.compile(r"<(?:(!--)|(script|style)\b[^<>]*>)", re.IGNORECASE)
_END_OF_HIDDEN = {
    "!--": re.compile("-->"),
    "script": re.compile(r"</script\s*>", re.IGNORECASE),
    "style": re.compile(r"</style\s*>", re.IGNORECASE),
}


def strip_html(text: str) -> str:
    """Return a text without tags, comments, scripts and styles; entities become characters."""
    text = _strip_tags(text)
    if "&" not in text:
        return text
    # Collections of web pages often have escaped tags.
    return _strip_tags(_ENTITY.sub(lambda entity: html.unescape(entity[0]), text))


def readable_text(text: str) -> str:
    """Return a text without HTML as a person reads it: with the breaks that tags stand for."""
    if strip_html(text) == text:
        return text
    return _BLANK_LINES.sub("\n\n", _SPACES.sub(" ", strip_html(_BREAK.sub("\n", text)))).strip()


def _strip_tags(text: str) -> str:
    """Return a text without the tags of HTML; in a page, and in XML, all tags are markup."""
    if "<" not in text:
        return text
    if _IS_PAGE.match(text):
        return _TAG.sub(" ", _DECLARATION.sub(" ", _drop_hidden(text)))
    text = _drop_hidden(text)
    closed = {name.lower() for name in _CLOSED.findall(text)}
    return _TAG.sub(lambda tag: " " if _is_markup(tag, closed) else tag[0], text)


def _is_markup(tag: re.Match[str], closed: set[str]) -> bool:
    """Return whether a tag is one of HTML, or of a name that the document closes."""
    name, attributes = tag[2].lower(), tag[3].lower().strip("/ \t\r\n")
    has_values = "=" in attributes
    if not has_values and not all(map(_SWITCH.fullmatch, attributes.split())):
        return False  # words in brackets
    if name in closed or _ELEMENT.fullmatch(name):
        return True
    return has_values and _ORDINARY_WORD.fullmatch(name) is not None


def _drop_hidden(text: str) -> str:
    """Return a text without comments, scripts and styles, in time that grows with its length."""
    parts, kept, at = [], 0, 0
    unclosed: set[str] = set()
    while (begin := _HIDDEN.search(text, at)) is not None:
        kind, at = (begin[1] or begin[2]).lower(), begin.end()
        end = None if kind in unclosed else _END_OF_HIDDEN[kind].search(text, at)
        if end is None:
            unclosed.add(kind)  # nor is there an end for the next one
            continue
        parts.append(text[kept : begin.start()])
        kept = at = end.end()
    return " ".join([*parts, text[kept:]])
