// What every widget of the book uses: building elements, reading the data, the page's theme, links to a view.
// Plain DOM, no dependency. Python joins this file and a widget's own into one module.

/** An element. Text only ever goes in as text nodes: a token may be "<script>". */
export function el(tag, attributes = {}, ...children) {
  const svg = ["svg", "defs", "pattern", "path", "text", "g", "rect", "image"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

/** Bytes start … start + length of an array that came as base64 (static page) or as a buffer (live). */
export function bytesOf(array, start, length) {
  if (array.base64 === undefined) return new Uint8Array(array.buffer ?? array, (array.byteOffset ?? 0) + start, length);
  // Four characters hold three bytes, so a part can be read without decoding what stands before it.
  const first = Math.floor(start / 3);
  const text = atob(array.base64.slice(4 * first, 4 * Math.ceil((start + length) / 3)));
  const skip = start - 3 * first;
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = text.charCodeAt(i + skip);
  return bytes;
}

/** Mount every element of this kind on the page that no earlier call has mounted. */
export function mountAll(key, mount) {
  for (const element of document.querySelectorAll(`[data-bertbook-widget="${key}"]:not([data-mounted])`)) {
    element.setAttribute("data-mounted", "");
    mount(element, JSON.parse(element.querySelector('script[type="application/json"]').textContent));
  }
}

/** Whether the host shows its dark theme: the Sphinx theme, JupyterLab, VS Code, Colab, else the system's choice. */
export function isDark() {
  const { documentElement: html, body } = document;
  if (html.dataset.theme) return html.dataset.theme === "dark";
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
  if (body.dataset.vscodeThemeKind) return !body.dataset.vscodeThemeKind.includes("light");
  if (html.hasAttribute("theme")) return html.getAttribute("theme") === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Keep root's data-bb-theme right, and call `changed` after each switch. Returns a function that stops it. */
export function followTheme(root, changed) {
  const apply = () => root.setAttribute("data-bb-theme", isDark() ? "dark" : "light");
  const again = () => (apply(), changed());
  const names = ["data-theme", "data-jp-theme-light", "data-vscode-theme-kind", "theme", "class"];
  const observer = new MutationObserver(again);
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, { attributes: true, attributeFilter: names });
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", again);
  apply();
  return () => (observer.disconnect(), system.removeEventListener("change", again));
}

/** The colours a style sheet gives root, by property or by variable, as [r, g, b]. */
export function colours(root, ...names) {
  const style = getComputedStyle(root);
  return names.map((name) => rgbOf(name.startsWith("--") ? style.getPropertyValue(name).trim() : style[name]));
}

function rgbOf(colour) {
  const hex = /^#(..)(..)(..)$/.exec(colour);
  if (hex) return hex.slice(1).map((digits) => parseInt(digits, 16));
  const rgb = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour);
  if (rgb) return rgb.slice(1).map(Number);
  // A host may use any notation. Painting it reads them all, but costs milliseconds.
  const context = el("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

/**
 * 256 colours from `from` over the hue of `middle` to `to`, as pixels for an ImageData.
 * Lightness in OKLab falls (or rises) in equal steps, so that equal steps look equal, to colour-blind eyes too.
 */
export function sequentialScale(from, middle, to) {
  const [a, b, c] = [from, middle, to].map(toOklab);
  const pixels = new Uint32Array(256);
  const bytes = new Uint8Array(pixels.buffer);
  for (let i = 0; i < 256; i++) {
    const t = i / 255;
    const mix = (k) => (1 - t) ** 2 * a[k] + 2 * t * (1 - t) * b[k] + t ** 2 * c[k];
    bytes.set([...fromOklab([a[0] + t * (c[0] - a[0]), mix(1), mix(2)]), 255], 4 * i);
  }
  return pixels;
}

// Björn Ottosson's OKLab (2020), with the sRGB transfer curve.
function toOklab(rgb) {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((v) => {
    const c = Math.min(1, Math.max(0, v));
    return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
  });
}

// A page's fragment is a list name=value joined by "&", one entry a widget: several can be linked at once.
const entries = () =>
  location.hash
    .slice(1)
    .split("&")
    .filter((entry) => /^[A-Za-z][\w-]*=/.test(entry));

/** What the page's address says about the widget `id`, or null. */
export function fromAddress(id) {
  return (
    entries()
      .find((entry) => entry.startsWith(`${id}=`))
      ?.slice(id.length + 1) ?? null
  );
}

/** The fragment that keeps what the address says about other widgets and says `value` about this one. */
export function addressWith(id, value) {
  return `#${[...entries().filter((entry) => !entry.startsWith(`${id}=`)), `${id}=${value}`].join("&")}`;
}

/**
 * Call `changed` whenever the page's address changes: with what it now says about the widget `id`, or with null where
 * that is what it said before (the reader may have moved on since). Returns a function that stops it.
 */
export function followAddress(id, changed) {
  let before = fromAddress(id);
  const listen = () => {
    const news = fromAddress(id);
    changed(news === before ? null : news);
    before = news;
  };
  addEventListener("hashchange", listen);
  return () => removeEventListener("hashchange", listen);
}

/** anywidget's entry over a widget's `mount`: the same picture, with the named state in step with Python's. */
export function renderLive({ model, el: root }, mount, names) {
  const read = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const onState = (changes) => {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };
  const widget = mount(root, model.get("_data"), { live: true, state: read(), onState });
  const follow = () => widget.set(read(), { fromHost: true });
  for (const name of names) model.on(`change:${name}`, follow);
  return () => {
    for (const name of names) model.off(`change:${name}`, follow);
    widget.destroy();
  };
}
