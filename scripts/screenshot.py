"""Take the README's picture: the attention explorer as it stands in the built book.

    jupyter-book build -W -n --keep-going . && python scripts/screenshot.py

Needs Chromium or Chrome on the machine, or its path in BERTBOOK_CHROMIUM.
"""

import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "_build" / "html" / "book" / "attention.html"
PICTURE = ROOT / "book" / "assets" / "screenshot.png"
MARGIN = 16  # CSS pixels around the widget
LIMIT = 200_000  # bytes: a README should open at once


def main() -> int:
    browser_path = os.environ.get("BERTBOOK_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if not browser_path:
        print("no browser: install chromium, or name one in BERTBOOK_CHROMIUM", file=sys.stderr)
        return 1
    if not PAGE.is_file():
        print(f"no {PAGE.relative_to(ROOT)}: build the book first", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1200}, device_scale_factor=2)
        page.goto(PAGE.as_uri())
        widget = page.locator(".cell_output .output.text_html:has([data-bertbook-module])").first
        widget.scroll_into_view_if_needed()
        page.wait_for_timeout(500)  # the first paint
        box = widget.bounding_box()
        assert box is not None
        x, y, width, height = box["x"], box["y"], box["width"], box["height"]
        around = 2 * MARGIN
        page.screenshot(
            path=PICTURE,
            clip={"x": x - MARGIN, "y": y - MARGIN, "width": width + around, "height": height + around},
        )
        browser.close()
    # A picture of few colours: a palette is enough, and a third of the size.
    Image.open(PICTURE).convert("RGB").quantize(128, method=Image.Quantize.FASTOCTREE).save(PICTURE, optimize=True)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT)}: {size:,} bytes")
    return 0 if size < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
