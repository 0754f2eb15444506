import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isArray, isObject, type Json } from '../../domain/shared/json.ts';
import { type Finding, finding, type Path } from './problem.ts';

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The content of each secret file, or why it cannot be read, by the path that a configuration names. */
export type SecretFiles = ReadonlyMap<string, Either<string, string>>;

type Part = { readonly literal: string } | { readonly variable: string } | { readonly file: string };

/** `$${` stands for a literal `${`. Between `${` and `}` is the name of a variable, or `file:` and a path. */
const mark = /\$\$\{|\$\{([^}]*)(\}?)/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** An absolute path, so that it means the same wherever the process was started. */
const filePlaceholder = /^file:(\/[^\p{Cc}]{0,4095})$/u;

/** The literal and variable parts of a text; `undefined` when a placeholder is malformed. */
function partsOf(text: string): readonly Part[] | undefined {
  const parts: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(mark)) {
    const [whole, name, closed] = match;
    const part = name === undefined ? { literal: '${' } : placeholderOf(name);
    if (part === undefined || closed === '') return undefined;
    parts.push({ literal: text.slice(from, match.index) }, part);
    from = match.index + whole.length;
  }
  return [...parts, { literal: text.slice(from) }];
}

function placeholderOf(name: string): Part | undefined {
  const [, file] = filePlaceholder.exec(name) ?? [];
  if (file !== undefined) return { file };
  return variableName.test(name) ? { variable: name } : undefined;
}

/** A text without its placeholders: the part that everybody who can read the file can see. */
export const residueOf = (text: string): string =>
  (partsOf(text) ?? [{ literal: text }]).map((part) => ('literal' in part ? part.literal : '')).join('');

/** The paths of the secret files that a text names. */
export const filesOf = (text: string): readonly string[] =>
  (partsOf(text) ?? []).flatMap((part) => ('file' in part ? [part.file] : []));

/** A tree in which every placeholder has its value, and the findings where one could not be filled in. */
export interface Interpolated {
  readonly value: Json;
  readonly findings: readonly Finding[];
}

/** The values of placeholders. */
export interface PlaceholderValues {
  readonly variables: Variables;
  readonly files: SecretFiles;
}

/** Fills in every placeholder of every string. Values are not interpolated themselves: a `${` in them means nothing. */
export function interpolate(raw: Json, values: PlaceholderValues): Interpolated {
  const findings: Finding[] = [];
  const fill = (value: Json, path: Path): Json => {
    if (typeof value === 'string') return fillText(value, path, values, findings);
    if (isArray(value)) return value.map((item, index) => fill(item, [...path, index]));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, fill(member ?? null, [...path, key])]),
    );
  };
  return { value: fill(raw, []), findings };
}

function fillText(text: string, path: Path, values: PlaceholderValues, findings: Finding[]): string {
  if (!text.includes('${')) return text;
  const parts = partsOf(text);
  if (parts === undefined) {
    findings.push(
      finding(
        path,
        'holds a malformed placeholder: write ${NAME}, ${file:/whole/path}, or $${ for ${ itself',
      ),
    );
    return text;
  }
  return parts
    .map((part) => {
      const value = valueOf(part, values);
      if (E.isRight(value)) return value.right;
      findings.push(finding(path, value.left));
      return '';
    })
    .join('');
}

/** The values of the placeholders of a text that have one. */
export const placeholderValuesIn = (text: string, values: PlaceholderValues): readonly string[] =>
  (partsOf(text) ?? []).flatMap((part) => {
    const value = 'literal' in part ? undefined : valueOf(part, values);
    return value !== undefined && E.isRight(value) ? [value.right] : [];
  });

/** The variables of a text that are set but empty. */
export const emptyVariablesIn = (text: string, variables: Variables): readonly string[] =>
  (partsOf(text) ?? []).flatMap((part) =>
    'variable' in part && Object.hasOwn(variables, part.variable) && variables[part.variable] === ''
      ? [part.variable]
      : [],
  );

function valueOf(part: Part, { variables, files }: PlaceholderValues): Either<string, string> {
  if ('literal' in part) return E.right(part.literal);
  if ('file' in part) {
    // Only the files that this process's own file names were read: a database row must not choose what is read here.
    const read =
      files.get(part.file) ?? E.left(`${part.file} is not named in the configuration of this process`);
    return E.mapLeft((why: string) => `the file ${why}`)(read);
  }
  const value = Object.hasOwn(variables, part.variable) ? variables[part.variable] : undefined;
  return value === undefined
    ? E.left(`the environment variable ${part.variable} is not set`)
    : E.right(value);
}
