import { isJsonBlank, JsonBrackets } from '../text/json-brackets.ts';

const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Follows the arguments of a call as they arrive, and detects when the object that they should be is complete. */
export class ObjectText {
  begun = false;
  complete = false;
  /** The arguments begin as something other than an object. */
  isOther = false;
  /** More text came after the object. */
  goesOn = false;
  /** Nothing is in the object so far. */
  isEmpty = true;
  private readonly brackets = new JsonBrackets();

  see(text: string): void {
    for (let at = 0; at < text.length && !this.isOther && !this.goesOn; at += 1) {
      const code = text.charCodeAt(at);
      if (!this.brackets.inString && !isJsonBlank(code)) this.seeToken(code);
      if (this.brackets.closes(code)) this.complete = true;
    }
  }

  private seeToken(code: number): void {
    this.isOther = !this.begun && code !== openBrace;
    this.isEmpty &&= !this.begun || code === closeBrace;
    this.begun = true;
    this.goesOn = this.complete;
  }
}
