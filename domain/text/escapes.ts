import { backslashFrom } from '../shared/backslashes.ts';

const backslash = 0x5c;
const slash = 0x2f;
const letterU = 0x75;

/** What is known of the escapes in a literal. */
export interface Spelling {
  /** UTF-16 units by which it is longer than its content and its quotes. */
  readonly spare: number;
  /** It has `\u` escapes, or what looks like one. */
  readonly hasNumbers: boolean;
  /** It has slashes behind a backslash, where JSON needs none. */
  readonly hasSlashes: boolean;
}

/** Units by which a `\u` escape is longer than its character; any other escape is longer by one. */
const unicodeSpare = 5;

/** The escapes in a text, as they are seen one after the other. */
export class Escapes implements Spelling {
  spare = 0;
  hasNumbers = false;
  hasSlashes = false;

  /** The escape that begins at `at`. */
  see(text: string, at: number): void {
    const code = text.charCodeAt(at + 1);
    this.spare += code === letterU ? unicodeSpare : 1;
    if (code === slash) this.hasSlashes = true;
    else if (code === letterU || (code === backslash && text.charCodeAt(at + 2) === letterU))
      this.hasNumbers = true;
  }
}

/** The escapes of a literal, or of a part of one that cuts none. */
export function escapesOf(literal: string): Spelling {
  const escapes = new Escapes();
  for (let at = backslashFrom(literal, 0); at < literal.length; at = backslashFrom(literal, at + 2))
    escapes.see(literal, at);
  return escapes;
}
