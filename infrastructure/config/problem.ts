import type * as t from 'io-ts';
import { unknownKey } from './object-codecs.ts';
import { shownKey } from './shown-key.ts';

/** Keys and list indexes from the root of the file. */
export type Path = readonly (string | number)[];

/** A problem at a path of the file, before its line is known. */
export interface Finding {
  readonly path: Path;
  /** Whether the problem is the key itself or its value. */
  readonly of: 'key' | 'value';
  readonly message: string;
}

/** A problem in the file, for a person. Messages never contain a value that may be a secret. */
export interface ConfigProblem {
  /** Such as `models[0].routes[1].provider`; empty for the file as a whole. */
  readonly path: string;
  /** 1-based; 0 when the problem is not in the text of the file. */
  readonly line: number;
  /** 1-based; 0 when the problem is not in the text of the file. */
  readonly column: number;
  readonly message: string;
}

export const finding = (path: Path, message: string): Finding => ({ path, of: 'value', message });

/** A problem without a line: of the file as a whole, or of an environment variable. */
export const withoutPosition = (path: string, message: string): ConfigProblem => ({
  path,
  line: 0,
  column: 0,
  message,
});

export const renderPath = (path: Path): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    const key = shownKey(step);
    if (!/^[\w-]+$/.test(key)) return `${text}[${JSON.stringify(key)}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');

export const findingsOf = (errors: t.Errors): readonly Finding[] =>
  errors.map((error) => ({
    path: pathOf(error.context),
    of: error.context.at(-1)?.type === unknownKey ? 'key' : 'value',
    message: error.message ?? 'is not valid',
  }));

const pathOf = (context: t.Context): Path =>
  context.slice(1).map(({ key }, index) => (Array.isArray(context[index]?.actual) ? Number(key) : key));

/** Sorted by their position in the file. */
export const sorted = (problems: readonly ConfigProblem[]): readonly ConfigProblem[] =>
  problems.toSorted((a, b) => a.line - b.line || a.column - b.column || compare(a.path, b.path));

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
