import { backslashFrom } from './backslashes.ts';

const backslash = 0x5c;
const slash = 0x2f;
const letterU = 0x75;

/** What is known about the escapes in a JSON string literal. */
export interface Spelling {
  /** UTF-16 units by which the literal is longer than its content plus its quotes. */
  readonly spare: number;
  /** The literal has `\u` escapes, or something that looks like one. */
  readonly hasNumbers: boolean;
  /** The literal has slashes escaped with a backslash, which JSON does not need. */
  readonly hasSlashes: boolean;
}

/** UTF-16 units by which a `\u` escape is longer than its character. Any other escape is longer by one. */
const unicodeSpare = 5;

/** Collects the escapes of a text, one after the other. */
export class Escapes implements Spelling {
  spare = 0;
  hasNumbers = false;
  hasSlashes = false;

  /** Notes the escape that begins at `at`. */
  see(text: string, at: number): void {
    const code = text.charCodeAt(at + 1);
    this.spare += code === letterU ? unicodeSpare : 1;
    if (code === slash) this.hasSlashes = true;
    else if (code === letterU || (code === backslash && text.charCodeAt(at + 2) === letterU))
      this.hasNumbers = true;
  }
}

/** The escapes of a literal, or of a part of one that splits no escape. */
export function escapesOf(literal: string): Spelling {
  const escapes = new Escapes();
  for (let at = backslashFrom(literal, 0); at < literal.length; at = backslashFrom(literal, at + 2))
    escapes.see(literal, at);
  return escapes;
}
