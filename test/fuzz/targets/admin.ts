import * as E from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { parseJson } from '../../../domain/shared/json.ts';
import { type AdminRoute, readBody } from '../../../interfaces/http/admin/admin-route.ts';
import { isStorable } from '../../../interfaces/http/admin/inputs.ts';
import { readQuery } from '../../../interfaces/http/admin/query.ts';
import { adminRoutes, type AdminRoutePorts } from '../../../interfaces/http/admin/routes.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';
import { demandTellable } from './requests.ts';
import { jsonWords } from './words.ts';

/** The only port that input checks call. */
const ports: Pick<AdminRoutePorts, 'isTimeZone'> = { isTimeZone: (name) => name === 'UTC' };
const declaredRoutes = adminRoutes({ ...({} as AdminRoutePorts), ...ports });
const asking = declaredRoutes.filter(({ query }) => Object.keys(query).length > 0);
const taking = declaredRoutes.filter(({ body }) => body !== undefined);

/** The first word of an input selects the route; the rest is read. */
function chosen(
  routes: readonly AdminRoute[],
  input: Buffer,
): { readonly route: AdminRoute; readonly text: string } {
  const text = input.toString('utf8');
  const blank = text.indexOf(' ');
  const number = Number.parseInt(text.slice(0, Math.max(0, blank)), 10);
  const route = routes[(Number.isSafeInteger(number) ? Math.abs(number) : 0) % routes.length];
  if (route === undefined) throw new Error('There are no routes.');
  return { route, text: text.slice(blank + 1) };
}

/** Values that are stored or searched contain no character that PostgreSQL cannot store. */
const demandStorable = (values: Readonly<Record<string, unknown>>): void =>
  demand(
    Object.values(values).every((value) => typeof value !== 'string' || isStorable(value)),
    'a text that no table can hold is taken',
  );

function checkQuery(input: Buffer, probe: Probe): string {
  const { route, text } = chosen(asking, input);
  const read = probe.step(() => readQuery(new URLSearchParams(text), route.query));
  if (E.isLeft(read)) {
    demandTellable(read.left);
    demand(read.left.param !== undefined, 'an error names no parameter');
    return `${route.path} ${roughly(read.left.message)}`;
  }
  demandStorable(read.right);
  for (const value of Object.values(read.right))
    demand(!(value instanceof Date) || !Number.isNaN(value.getTime()), 'an instant that is none');
  return `${route.path} ${Object.values(read.right).filter((value) => value !== undefined).length}`;
}

function checkBody(input: Buffer, probe: Probe): string {
  const { route, text } = chosen(taking, input);
  const read = probe.step(() => readBody(parseJson(text), route.body));
  if (E.isLeft(read)) {
    demandTellable(read.left);
    return `${route.path} ${roughly(read.left.message)}`;
  }
  demandStorable(read.right);
  return `${route.path} ${Object.values(read.right).filter((value) => value !== undefined).length}`;
}

/** A value that a schema allows, so that mutants start near valid input. */
function valueOf({
  examples,
  default: unasked,
  enum: words,
  anyOf,
  type,
  minimum,
  minLength,
}: JsonObject): unknown {
  if (Array.isArray(examples)) return examples[0];
  if (unasked !== undefined) return unasked;
  if (Array.isArray(words)) return words[0];
  if (Array.isArray(anyOf)) return valueOf(anyOf[0] as JsonObject);
  if (type === 'integer' || type === 'number') return minimum ?? 1;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  return type === 'object' ? {} : 'a'.repeat(Math.max(1, Number(minLength ?? 1)));
}

const valuesOf = (inputs: AdminRoute['query']): readonly (readonly [string, unknown])[] =>
  Object.entries(inputs).map(([name, { schema }]) => [name, valueOf(schema)] as const);

const namesOf = (routes: readonly AdminRoute[]): readonly string[] => [
  ...new Set(
    routes.flatMap(({ query, body }) => [...Object.keys(query), ...Object.keys(body?.members ?? {})]),
  ),
];

export const adminTargets: readonly Target[] = [
  {
    name: 'admin: queries',
    samples: asking.map(({ query }, index) =>
      Buffer.from(
        `${index} ${valuesOf(query)
          .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
          .join('&')}`,
      ),
    ),
    words: [
      ...namesOf(asking).map((name) => `&${name}=`),
      '&',
      '=',
      '%00',
      '%ff',
      '%ed%a0%80',
      '+',
      '%2B',
      '2026-02-29T24:00:00Z',
      '2026-01-31T00:00:00+23:59',
      '-1',
      '1e3',
      '99999999999999999999',
      'true',
      'all',
      '__proto__=1',
      'constructor=1',
      '[]',
      '01',
    ],
    check: checkQuery,
  },
  {
    name: 'admin: bodies',
    samples: taking.map(({ body }, index) =>
      Buffer.from(`${index} ${JSON.stringify(Object.fromEntries(valuesOf(body?.members ?? {})))}`),
    ),
    words: [...namesOf(taking).map((name) => `"${name}":`), ...jsonWords],
    check: checkBody,
  },
];
