"""Citations as plain Markdown: "Vaswani et al., 2017" with a link, and the list of what was cited."""

from pathlib import Path

from pages import FlattenError
from pybtex.backends.markdown import Backend
from pybtex.database import BibliographyData, Entry, Person, parse_file
from pybtex.style.formatting.unsrt import Style


class References:
    """The book's bibliography, and the keys that one page has cited so far, in order."""

    def __init__(self, *files: Path) -> None:
        self.entries: dict[str, Entry] = {}
        for file in files:
            self.entries |= dict(parse_file(str(file)).entries)
        self.cited: list[str] = []

    def cite(self, keys: str, textual: bool) -> str:
        """``{cite:p}`` as "(A et al., 2017; B, 2019)", ``{cite:t}`` as "A et al. (2017), B (2019)"."""
        parts = [self._cite(key.strip(), textual) for key in keys.split(",")]
        return ", ".join(parts) if textual else f"({'; '.join(parts)})"

    def _cite(self, key: str, textual: bool) -> str:
        if key not in self.entries:
            raise FlattenError(f"unknown reference {key!r}; the bibliography has: {', '.join(sorted(self.entries))}")
        if key not in self.cited:
            self.cited.append(key)
        entry = self.entries[key]
        who, year, url = _authors(entry), entry.fields["year"], _url(entry)
        if not url:
            return f"{who} ({year})" if textual else f"{who}, {year}"
        return f"{who} ([{year}]({url}))" if textual else f"[{who}, {year}]({url})"

    def cited_list(self) -> str:
        """The cited works as a Markdown list, in the order of their first citation."""
        database = BibliographyData({key: self.entries[key] for key in self.cited})
        formatted = Style().format_entries(database.entries.values())
        return "\n".join(f"- {entry.text.render(Backend())}" for entry in formatted)


def _authors(entry: Entry) -> str:
    names = [_last_name(person) for person in entry.persons["author"]]
    return " and ".join(names) if len(names) < 3 else f"{names[0]} et al."


def _last_name(person: Person) -> str:
    return " ".join(str(part) for part in (*person.rich_prelast_names, *person.rich_last_names))


def _url(entry: Entry) -> str:
    return entry.fields.get("url") or (f"https://doi.org/{entry.fields['doi']}" if "doi" in entry.fields else "")
