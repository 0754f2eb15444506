import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { parseText, type Revive } from '../../domain/shared/parse-text.ts';

/** A JSON number as written in the file: `1.5e-07` stays these seven characters. */
export class NumberText {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

const keepNumberText: Revive = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined ? new NumberText(source) : value;

/** Parses JSON with every number as a `NumberText`, so that no price passes through a binary fraction. */
export const parseKeepingNumbers = (text: string): Either<string, unknown> =>
  E.tryCatch(
    () => parseText(text, keepNumberText),
    (error) => `not JSON: ${error instanceof Error ? error.message : String(error)}`,
  );

/** The members of a JSON object; `undefined` for anything else. */
export const members = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText)
    ? (value as Record<string, unknown>)
    : undefined;
