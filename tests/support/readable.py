"""Whether what a page shows can be read: its width, the names of its fields, the contrast of its texts (WCAG 2.2)."""

from playwright.sync_api import Page

NAMELESS = """() => [...document.querySelectorAll(
    'input, select, textarea, button, a[href], [role=meter], dialog[open]')]
  .filter(n => n.offsetParent !== null || n.matches('dialog'))
  .filter(n => !(n.labels && n.labels.length) && !n.getAttribute('aria-label') && !n.getAttribute('aria-labelledby')
    && !(n.matches('button, a') && n.textContent.trim()))
  .map(n => n.outerHTML.slice(0, 120))"""

PALE = """() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = node => {
    for (let n = node; n; n = n.parentElement) {
      const c = parse(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return parse(getComputedStyle(document.body).backgroundColor);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !node.checkVisibility() || node.closest(':disabled, option')) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${node.className}: ${text.slice(0, 40)}`);
  }
  return [...new Set(found)];
}"""


def can_be_read(page: Page, where: str) -> None:
    """Check width, names and contrast (WCAG 2.2: 1.4.3, 1.4.10, 4.1.2) of what is shown now."""
    width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width <= 0, f"{where} is {width} pixels too wide"
    assert page.evaluate(NAMELESS) == [], where
    assert page.evaluate(PALE) == [], where
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(n => n.id)")
    assert len(ids) == len(set(ids)), where
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
