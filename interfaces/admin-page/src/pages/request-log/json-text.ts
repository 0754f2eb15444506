/**
 * JSON as text: stored JSON is shown with every digit and with its keys in order, neither of which parsing would keep.
 * The text must be JSON already; other text is returned as it is.
 */
const token = /[{}[\],:]|[^\s"{}[\],:]+/gy;

/** A string, from its quote. Not by an expression: in one of ten million characters that overflows the stack. */
function stringAt(text: string, at: number): string | undefined {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return text.slice(at, end + 1);
  }
  return undefined;
}

/** The text of a member of an object; `undefined` when there is none, or when the text is not an object. Linear. */
export function memberText(text: string, key: string): string | undefined {
  const name = JSON.stringify(key);
  let depth = 0;
  let valueAt: number | undefined;
  let previous = '';
  let end = 0;
  for (const { text: found, at } of tokensOf(text)) {
    if (depth === 0 && found !== '{') return undefined;
    if (depth === 1 && valueAt !== undefined && (found === ',' || found === '}'))
      return text.slice(valueAt, end);
    if (depth === 1 && found === ':' && previous === name) valueAt = at + 1;
    depth += stepOf(found);
    previous = found;
    end = at + found.length;
  }
  return undefined;
}

/** The same JSON with a line for each member and item. Linear in its length and that of its indentation. */
export function prettyJson(text: string): string {
  const out: string[] = [];
  let depth = 0;
  let previous = '';
  for (const { text: found } of tokensOf(text)) {
    const closes = found === '}' || found === ']';
    if (closes) depth -= 1;
    const isEmpty = closes && (previous === '{' || previous === '[');
    if ((closes && !isEmpty) || (!closes && opensLine(previous))) out.push('\n', indent(depth));
    out.push(found === ':' ? ': ' : found);
    if (found === '{' || found === '[') depth += 1;
    previous = found;
  }
  return out.join('');
}

const opensLine = (previous: string): boolean => previous === '{' || previous === '[' || previous === ',';
const maxIndent = 40;
const indent = (depth: number): string => '  '.repeat(Math.min(Math.max(depth, 0), maxIndent));

function stepOf(found: string): number {
  if (found === '{' || found === '[') return 1;
  return found === '}' || found === ']' ? -1 : 0;
}

function* tokensOf(text: string): Generator<{ readonly text: string; readonly at: number }> {
  const blank = /\s*/y;
  let at = 0;
  for (;;) {
    blank.lastIndex = at;
    at += blank.exec(text)?.[0].length ?? 0;
    token.lastIndex = at;
    const found = text[at] === '"' ? stringAt(text, at) : token.exec(text)?.[0];
    if (found === undefined) return;
    yield { text: found, at };
    at += found.length;
  }
}
