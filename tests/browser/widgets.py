"""Pages that hold widgets: on a page of their own, and as anywidget would render them."""

from pathlib import Path

from bertbook.viz.embed import BookWidget


def write_page(path: Path, *widgets: BookWidget, html: str = "<html lang='en'>") -> Path:
    """A page that holds the widgets."""
    body = "<hr>".join(widget.html() for widget in widgets)
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>Test</title>"
    path.write_text(
        f"<!doctype html>{html}<head>{head}</head><body><main><h1>Test</h1>{body}</main></body></html>", "utf-8"
    )
    return path


# Runs a widget's module on a model that behaves like anywidget's. Takes its code, its style, its traits' values.
RENDER = """async ([source, css, values]) => {
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  const { default: widget } = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const { weights } = values._data; // bytes come in a DataView, somewhere within a buffer
  if (weights) values._data.weights = new DataView(Uint8Array.from([0, 0, 0, ...weights]).buffer, 3);
  const handlers = {};
  window.model = {
    saves: 0,
    get: (name) => values[name],
    set(name, value) {
      if (values[name] === value) return;
      values[name] = value;
      for (const handler of handlers[`change:${name}`] ?? []) handler();
    },
    save_changes() { this.saves++; },
    on: (name, handler) => (handlers[name] ??= []).push(handler),
    off: (name, handler) => (handlers[name] = handlers[name].filter((h) => h !== handler)),
    listeners: () => Object.values(handlers).flat().length,
  };
  window.el = document.createElement("div");
  window.stop = widget.render({ model: window.model, el: window.el });  // anywidget may render before it attaches
  document.querySelector("main").append(window.el);
}"""
