"""What the README shows runs as shown."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.S)


@pytest.mark.parametrize("code", BLOCKS)
def test_the_readme_s_python_runs(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102


def test_every_file_the_readme_links_to_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_command_the_readme_names_exists():
    from discreet.cli.commands import COMMANDS

    for name in set(re.findall(r"`discreet ([a-z]+)", README)):
        assert name in COMMANDS, name


def test_every_make_target_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for name in set(re.findall(r"^make ([a-z]+)", README, flags=re.M)):
        assert re.search(rf"^{name}:", makefile, flags=re.M), name
