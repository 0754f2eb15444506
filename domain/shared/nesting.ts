import { closingQuote } from '../text/backslashes.ts';

/** Whether a text's brackets, outside of string literals, nest deeper than `levels`. The text need not be JSON. */
export function nestsDeeperThan(text: string, levels: number): boolean {
  if (text.length <= levels || !hasMoreOpenersThan(text, levels)) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = closingQuote(text, at);
    else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) depth -= 1;
    if (depth > levels) return true;
  }
  return false;
}

const quote = 0x22;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** A quick check without a look at each character: most texts have few brackets, quoted or not. */
function hasMoreOpenersThan(text: string, count: number): boolean {
  let found = 0;
  for (const opener of '{[')
    for (let at = text.indexOf(opener); at >= 0 && found <= count; at = text.indexOf(opener, at + 1))
      found += 1;
  return found > count;
}
