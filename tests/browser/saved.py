"""The two files that "Save SVG" and "Save PNG" hand the reader: read, and checked for what holds for all of them."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np

SVG = "{http://www.w3.org/2000/svg}"


def saved(page: Any, name: str) -> tuple[ElementTree.Element, np.ndarray]:
    """The SVG's root and the PNG's pixels. Both stand alone, are called `name`, have one size, and are not blank."""
    files = {}
    for kind in ("svg", "png"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save {kind.upper()}").click()
        assert download.value.suggested_filename == f"{name}.{kind}"
        files[kind] = Path(download.value.path())
    root = ElementTree.fromstring(files["svg"].read_bytes())
    assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {"svg", "text", "rect", "image"}
    for node in root.iter():
        assert not any(re.search(r"://|url\(|^on", f"{key[:2]}{value}") for key, value in node.attrib.items())
        assert node.get("href", "data:image/png;base64,").startswith("data:image/png;base64,")
    assert files["png"].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = plt.imread(files["png"], format="png")
    assert pixels.shape[:2] == (2 * float(root.get("height", 0)), 2 * float(root.get("width", 0)))
    assert 0.02 < (pixels != pixels[0, 0]).any(2).mean() < 0.98
    return root, pixels


def texts(root: ElementTree.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}text")]
