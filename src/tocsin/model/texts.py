"""Settings that define how a string becomes words.

Settings without a language need no library. Stems and stop words come from tantivy, in the extra `text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Final

from tocsin.errors import InvalidInput, needing
from tocsin.spelling import only_in_python

_PLAIN: Final = "plain"
_FLAGS: Final = ("stem", "drop_stop_words", "keep_accents")


_AS_TEXT: Final = "Text('english', stem=True), or "


@dataclass(frozen=True, slots=True)
class Text:
    """How a text becomes words: split at Unicode word boundaries, without case and, by default, without accents.

    In an expression the settings are written as words: `TEXT(title, 'shoes', 'english stem')`.

    Attributes
    ----------
    language : str, optional
        The language of stems and stop words, such as "english". It needs `stem` or `drop_stop_words`.
    stem : bool
        Whether words are reduced to their stems, so that `shoes` and `shoe` are one word.
    drop_stop_words : bool
        Whether words such as `the` and `of` are left out.
    keep_accents : bool
        Whether `café` and `cafe` are two words.

    Raises
    ------
    InvalidInput
        If the settings contradict each other, or there are no stems of the language.
    MissingExtra
        If stems or stop words are asked for and tantivy is not installed: `pip install 'tocsin[text]'`.

    Examples
    --------
    >>> str(Text()), str(Text(keep_accents=True))
    ('plain', 'keep_accents')
    >>> Text.of("english stem") == Text("english", stem=True)
    True
    """

    language: str | None = None
    stem: bool = False
    drop_stop_words: bool = False
    keep_accents: bool = False

    def __post_init__(self) -> None:
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} is {getattr(self, name)!r:.40}; it is True or False")
        if self.language is None:
            if self.stem or self.drop_stop_words:
                raise InvalidInput(
                    f"stems and stop words need a language: {only_in_python(_AS_TEXT)}'text english stem'"
                )
            return
        if not isinstance(self.language, str) or not self.language.islower():
            raise InvalidInput(f"language is {self.language!r:.40}; it is a name in small letters, such as 'english'")
        if not (self.stem or self.drop_stop_words):
            raise InvalidInput(f"the language {self.language!r:.40} changes nothing without stem or drop_stop_words")
        for analyzer in (self.stem and "stemmer", self.drop_stop_words and "stopword"):
            if analyzer:
                analyzer_of(analyzer, self.language)

    @classmethod
    def of(cls, settings: str) -> Text:
        """Parse settings that are written as words.

        Parameters
        ----------
        settings : str
            `plain`, or a language, `stem`, `drop_stop_words` and `keep_accents`, separated by spaces.

        Returns
        -------
        Text
            The settings.

        Raises
        ------
        InvalidInput
            For other words.
        """
        if settings == _PLAIN:
            return cls()
        words = settings.split()
        languages = [word for word in words if word not in _FLAGS]
        if not words or len(languages) > 1 or len(set(words)) < len(words):
            raise InvalidInput(
                f"{settings[:60]!r} is not a way to make words; write 'plain', or a language, "
                f"{', '.join(_FLAGS)}: 'english stem'"
            )
        return cls(languages[0] if languages else None, *(name in words for name in _FLAGS))

    def __str__(self) -> str:
        words = [self.language or "", *(name for name in _FLAGS if getattr(self, name))]
        return " ".join(filter(None, words)) or _PLAIN


PLAIN: Final = Text()
"""The default settings."""


def text_type(kind: object) -> Text | None:
    """The settings of a text type in a schema: `text`, `text` and settings, or a `Text`. None for other types."""
    if isinstance(kind, Text):
        return kind
    if not isinstance(kind, str) or kind.split(" ")[0] != "text":
        return None
    return Text.of(kind.removeprefix("text ")) if kind != "text" else PLAIN


def named_types(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Check a schema; the result is empty if there is none. Raises `InvalidInput` if it is not a mapping."""
    if schema is not None and not isinstance(schema, Mapping):
        raise InvalidInput(f"schema is {schema!r:.60}; it maps names of attributes to types: {{'price': 'number'}}")
    return schema or {}


def texts_in(schema: Mapping[str, Any] | None) -> dict[str, Text]:
    """The attributes that a schema declares as texts, with their settings."""
    return {name: how for name, kind in named_types(schema).items() if (how := text_type(kind)) is not None}


@cache
def analyzer_of(kind: str, language: str) -> Any:
    """tantivy's `stemmer` or `stopword` filter for a language. Words separated by spaces become a list of words."""
    library = _tantivy()
    try:
        chosen = getattr(library.Filter, kind)(language)
        return library.TextAnalyzerBuilder(library.Tokenizer.whitespace()).filter(chosen).build()
    except ValueError:
        what = "stems" if kind == "stemmer" else "stop words"
        raise InvalidInput(
            f"there are no {what} for the language {language[:40]!r}; the languages are english, french, german, "
            "spanish, italian, portuguese, dutch, swedish, danish, norwegian, finnish, hungarian and russian"
        ) from None


def _tantivy() -> ModuleType:
    with needing("text"):
        import tantivy
    library: ModuleType = tantivy
    return library
