/** Where excerpts stand in the text of a source. Offsets of evidence count code points, those of strings UTF-16 units. */

export const AROUND = 3000;
export const FURTHER = 20_000;
const LONGEST_STRETCH = 60_000;

/** Return the positions in a string that some ascending numbers of code points stand for. */
export function unitsOf(text, points) {
  const found = [];
  let point = 0;
  let unit = 0;
  for (const wanted of points) {
    while (point < wanted && unit < text.length) {
      const code = text.charCodeAt(unit);
      const pair = code >= 0xd800 && code < 0xdc00 && unit + 1 < text.length;
      unit += pair ? 2 : 1;
      point += 1;
    }
    found.push(unit);
  }
  return found;
}

/** Return the places of some evidence in a text as {start, end, evidence}, those that overlap joined, in order. */
export function places(text, evidence) {
  const edges = [...new Set(evidence.flatMap((item) => [item.start, item.end]))].sort((a, b) => a - b);
  const units = new Map(unitsOf(text, edges).map((unit, index) => [edges[index], unit]));
  const found = evidence.map((item) => ({ start: units.get(item.start), end: units.get(item.end), evidence: [item] }));
  found.sort((a, b) => a.start - b.start || a.end - b.end);
  const joined = [];
  for (const place of found) {
    const last = joined.at(-1);
    if (last !== undefined && place.start < last.end) {
      last.end = Math.max(last.end, place.end);
      last.evidence.push(...place.evidence);
    } else {
      joined.push(place);
    }
  }
  return joined;
}

/** Tell whether every excerpt stands word for word where its evidence says. */
export function allStand(text, evidence) {
  return evidence.every((item) => {
    const [start, end] = unitsOf(text, [item.start, item.end]);
    return text.slice(start, end) === item.excerpt;
  });
}

/** Return the stretch of a text to show: the places with their surroundings, the first one alone if they lie far apart. */
export function stretch(text, found) {
  const first = found[0] ?? { start: 0, end: 0 };
  const last = found.at(-1) ?? first;
  const end = last.end - first.start > LONGEST_STRETCH ? first.end : last.end;
  return { from: lineStart(text, first.start - AROUND), to: lineEnd(text, end + AROUND) };
}

export function lineStart(text, unit) {
  return unit <= 0 ? 0 : text.lastIndexOf("\n", unit) + 1;
}

export function lineEnd(text, unit) {
  if (unit >= text.length) return text.length;
  const next = text.indexOf("\n", unit);
  return next === -1 ? text.length : next;
}
