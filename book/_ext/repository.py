"""The addresses of a file in the repository, all made from the two settings under `repository` in _config.yml."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import yaml

_COLAB = "https://colab.research.google.com"


@dataclass(frozen=True)
class Repository:
    """A repository on GitHub (the one host that Colab opens) at one branch."""

    url: str
    branch: str

    def __post_init__(self) -> None:
        if not self.url.startswith("https://github.com/") or len(self.slug.split("/")) != 2:
            raise ValueError(
                f"repository url {self.url!r} in _config.yml: expected https://github.com/<owner>/<name>, "
                "without a closing slash"
            )

    @classmethod
    def from_config(cls, path: Path) -> Self:
        """Read a Jupyter Book configuration file."""
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))["repository"]
        return cls(settings["url"], settings["branch"])

    @classmethod
    def from_theme(cls, options: Mapping[str, Any]) -> Self:
        """Take the settings from ``html_theme_options``, where Jupyter Book puts them."""
        return cls(options["repository_url"], options["repository_branch"])

    @property
    def slug(self) -> str:
        """owner/name"""
        return self.url.removeprefix("https://github.com/")

    def page(self, path: str) -> str:
        """The file as the site shows it."""
        return f"{self.url}/blob/{self.branch}/{quote(path)}"

    def raw(self, path: str) -> str:
        """The file itself, for pictures."""
        return f"{self.url}/raw/{self.branch}/{quote(path)}"

    def colab(self, path: str) -> str:
        """The notebook, opened in Colab."""
        return f"{_COLAB}/github/{self.slug}/blob/{self.branch}/{quote(path)}"

    @property
    def requirement(self) -> str:
        """What `pip install` takes to install the package from the branch."""
        return f"bertbook @ git+{self.url}@{self.branch}"
