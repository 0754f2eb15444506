const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** White space between the tokens of JSON. */
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

export const isJsonBlank = (code: number): boolean => blanks.has(code);

/**
 * Follows the brackets of JSON that arrives in pieces, by its UTF-16 units or its UTF-8 bytes. Those inside of strings
 * do not count, and the two kinds are not told apart.
 */
export class JsonBrackets {
  /** Whether the next unit is inside of a string, or its closing quote. */
  inString = false;
  private escaped = false;
  private depth = 0;

  /** Takes the next unit. Returns true if it closes the outermost bracket. */
  closes(code: number): boolean {
    if (this.inString) this.seeInString(code);
    else if (code === quote) this.inString = true;
    else if (code === openBrace || code === openBracket) this.depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      this.depth -= 1;
      return this.depth === 0;
    }
    return false;
  }

  private seeInString(code: number): void {
    if (this.escaped) this.escaped = false;
    else if (code === backslash) this.escaped = true;
    else if (code === quote) this.inString = false;
  }
}
