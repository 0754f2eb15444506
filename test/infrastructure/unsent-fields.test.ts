import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { unsentFields, unsentIn } from '../../domain/compatibility/unsent-fields.ts';
import { type UnsentFields, upstreamBodies } from '../../domain/compatibility/upstream-bodies.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { type FieldFamily, knownFields, paths } from '../support/fields/families.ts';
import { fieldsFile, fieldsPage } from '../support/fields/fields-page.ts';
import { fateOf } from '../support/fields/fate.ts';
import type { KnownField } from '../support/fields/known-fields.ts';

const fates = paths.map((each) => ({
  ...each,
  fates: knownFields[each.family].map((field) => ({
    name: field.name,
    fate: fateOf(field, each.family, each.route),
  })),
}));

describe('every known field is sent, rejected by name, or on the list of fields that change no answer', () => {
  it.each(fates.map((each) => [each.family, each.route.name, each] as const))('%s on %s', (_, __, each) => {
    const listed = new Set(unsentIn(each.body, each.family));
    const silent = each.fates.flatMap(({ name, fate }) =>
      fate !== 'sent' && fate !== 'refused' && !listed.has(name) ? [`${name}: ${fate}`] : [],
    );
    expect(silent).toEqual([]);
    expect(each.fates.some(({ fate }) => fate === 'sent')).toBe(true);
  });
});

/** The top-level members that have the same body without them. */
const membersOf = (family: FieldFamily): readonly KnownField[] => {
  const [first] = knownFields[family];
  const bare = JSON.stringify(first?.bare);
  return knownFields[family].filter((each) => JSON.stringify(each.bare) === bare && !/[.[]/.test(each.path));
};

describe('a field that is sent alone is also sent with others, or one of these is rejected by name', () => {
  it.each(fates.map((each) => [each.family, each.route.name, each] as const))('%s on %s', (_, __, each) => {
    const alone = new Set(each.fates.flatMap(({ name, fate }) => (fate === 'sent' ? [name] : [])));
    const fields = membersOf(each.family).filter(({ name }) => alone.has(name));
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom(...fields), { selector: ({ path }) => path }), (company) => {
        for (const field of company) {
          const others = company.filter((other) => other !== field);
          const bare = Object.assign({ ...field.bare }, ...others.map(member)) as JsonObject;
          const fate = fateOf(
            { ...field, bare, body: { ...bare, ...member(field) } },
            each.family,
            each.route,
          );
          if (!others.some(({ path }) => fate.startsWith(`refused as ${path}`)))
            expect([field.name, fate]).toEqual([field.name, fate === 'refused' ? fate : 'sent']);
        }
      }),
      { seed: 1515, numRuns: 60 },
    );
  });
});

const member = ({ path, value }: KnownField): JsonObject => ({ [path]: value });

describe('the list of unsent fields', () => {
  it.each(upstreamBodies)('has only fields that some route with this body drops: %s', (body) => {
    const needless = unsentFields
      .filter((each) => each.in.includes(body))
      .flatMap(({ family, fields }) => fields.filter((field) => !isUnsent(family, body, field)));
    expect(needless).toEqual([]);
  });
});

const isUnsent = (family: UnsentFields['family'], body: string, field: string): boolean =>
  fates
    .filter((each) => each.family === family && each.body === body)
    .some((each) => each.fates.some(({ name, fate }) => name === field && fate === 'unsent'));

describe('docs/fields.md', () => {
  const docs = readFileSync(fieldsFile, 'utf8');

  it('is the generated page (else: npm run fields)', () => {
    expect(docs).toBe(fieldsPage());
  });

  it('describes each upstream body', () => {
    const told = docs
      .split('\n')
      .filter((row) => row.startsWith('- `'))
      .map((row) => row.split('`')[1]);
    expect(told).toEqual(upstreamBodies);
  });
});
