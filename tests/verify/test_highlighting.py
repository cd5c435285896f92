"""The documentation's lexer knows every word of the language and reads every program."""

from pathlib import Path

from pygments.token import Error, Keyword, Name

from discreet.verify.cursor import KEYWORDS, LAWS
from highlight import ProgramLexer

FOLDER = Path(__file__).parents[2] / "examples" / "programs"


def test_every_example_is_read_to_its_end():
    for path in FOLDER.glob("*.dp"):
        found = list(ProgramLexer().get_tokens(path.read_text()))
        assert "".join(text for _, text in found).strip() == path.read_text().strip()
        assert not [text for kind, text in found if kind is Error], path


def test_words_of_the_language_are_told_from_names():
    for word in sorted(KEYWORDS):
        (first, *_) = ProgramLexer().get_tokens(word)
        assert first == (Keyword, word)
    for law in LAWS:
        (first, *_) = ProgramLexer().get_tokens(law)
        assert first == (Name.Class, law)
    (first, *_) = ProgramLexer().get_tokens("iffy")
    assert first == (Name, "iffy")
