import { maxEscapedKeys, maxJsonDepth } from './limits.ts';

/** Why a body was rejected as a document. `path` names the place in the caller's own keys. */
export interface DocumentError {
  readonly path: string;
  readonly message: string;
  /** The body has more JSON values than allowed. */
  readonly tooManyValues?: true;
}

export const notAnObject: DocumentError = {
  path: 'body',
  message: 'The request body must be a JSON object.',
};

/** The text stops being JSON at this character. */
export const malformed = (at: number): DocumentError => ({
  path: 'body',
  message: `The request body is not valid JSON (character ${at + 1}).`,
});

export const tooDeep: DocumentError = {
  path: 'body',
  message: `The request body is nested deeper than ${maxJsonDepth} levels.`,
};

export const tooManyValues = (maxValues: number): DocumentError => ({
  path: 'body',
  message: `The request body holds more than ${maxValues} JSON values.`,
  tooManyValues: true,
});

export const tooManyEscapedKeys: DocumentError = {
  path: 'body',
  message: `The request body has more than ${maxEscapedKeys} keys that are spelled with an escape.`,
};
