import { isArray, isObject, type Json } from '../../domain/shared/json.ts';
import { type Finding, finding, type Path } from './problem.ts';

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

type Part = { readonly literal: string } | { readonly variable: string };

/** `$${` stands for `${` itself; what follows `${` up to `}` is the name of a variable. */
const mark = /\$\$\{|\$\{([^}]*)(\}?)/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The literal and variable parts of a text; undefined when a placeholder is malformed. */
function partsOf(text: string): readonly Part[] | undefined {
  const parts: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(mark)) {
    const [whole, name, closed] = match;
    if (name !== undefined && (closed === '' || !variableName.test(name))) return undefined;
    parts.push({ literal: text.slice(from, match.index) });
    parts.push(name === undefined ? { literal: '${' } : { variable: name });
    from = match.index + whole.length;
  }
  return [...parts, { literal: text.slice(from) }];
}

/** What is left of a text without its placeholders: whatever it is, it is in the file for all to read. */
export const residueOf = (text: string): string =>
  (partsOf(text) ?? [{ literal: text }]).map((part) => ('literal' in part ? part.literal : '')).join('');

/** The names of the variables in a text. */
export const variablesOf = (text: string): readonly string[] =>
  (partsOf(text) ?? []).flatMap((part) => ('variable' in part ? [part.variable] : []));

/** A tree in which every `${NAME}` has its value, and what stood in the way. */
export interface Interpolated {
  readonly value: Json;
  readonly findings: readonly Finding[];
}

/** Fills in every placeholder of every string. Values are taken as they are: a `${` in them means nothing. */
export function interpolate(raw: Json, variables: Variables): Interpolated {
  const findings: Finding[] = [];
  const fill = (value: Json, path: Path): Json => {
    if (typeof value === 'string') return fillText(value, path, variables, findings);
    if (isArray(value)) return value.map((item, index) => fill(item, [...path, index]));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, fill(member ?? null, [...path, key])]),
    );
  };
  return { value: fill(raw, []), findings };
}

function fillText(text: string, path: Path, variables: Variables, findings: Finding[]): string {
  if (!text.includes('${')) return text;
  const parts = partsOf(text);
  if (parts === undefined) {
    findings.push(finding(path, 'holds a malformed placeholder: write ${NAME}, or $${ for ${ itself'));
    return text;
  }
  return parts
    .map((part) => {
      if ('literal' in part) return part.literal;
      const value = Object.hasOwn(variables, part.variable) ? variables[part.variable] : undefined;
      if (value === undefined)
        findings.push(finding(path, `the environment variable ${part.variable} is not set`));
      return value ?? '';
    })
    .join('');
}
