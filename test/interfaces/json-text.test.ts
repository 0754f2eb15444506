import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Json } from '../../domain/shared/json.ts';
import { presentOwners } from '../../interfaces/http/admin/budget-bodies.ts';
import {
  type AdminData,
  JsonText,
  serialisedAnswer,
  serialisedData,
} from '../../interfaces/http/json-text.ts';
import { aJson, exactJsonText } from '../support/arbitraries/json-text.ts';

describe('the data of an admin answer', () => {
  it('is serialised as by JSON.stringify, with every stored JSON text unchanged', () => {
    /** Texts that look like the placeholder of a stored text. */
    const aTrap = fc.constantFrom('"\\/0"', '\\/0', '"\\/1"', '\\"\\/0\\"').map((text): Json => text);
    const aText = fc.oneof(
      exactJsonText,
      aTrap.map((text) => JSON.stringify(text)),
      fc.constantFrom('"\\/0"', '{ "2": 1.0, "1": "\\u00e9\\/" }', '[\n]', 'null', '-0'),
    );
    const leaf: fc.Arbitrary<AdminData> = fc.oneof(
      aText.map((text) => new JsonText(text)),
      aJson,
      aTrap,
    );
    const someData = fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom('"\\/0"', '\\/0')),
      fc.oneof(leaf, fc.array(leaf, { maxLength: 4 })),
      { noNullPrototype: true },
    );
    /** The expected text, member by member. */
    const text = (data: AdminData): string => {
      if (data instanceof JsonText) return data.text;
      return Array.isArray(data) ? `[${data.map(text).join(',')}]` : JSON.stringify(data);
    };
    fc.assert(
      fc.property(someData, (data) => {
        const members = Object.entries(data).map(([key, value]) => `${JSON.stringify(key)}:${text(value)}`);
        expect(serialisedData(data)).toBe(`{${members.join(',')}}`);
      }),
    );
  });
});

describe('a list without pages', () => {
  /** How often other work had a turn meanwhile. */
  async function turnsDuring<A>(work: Promise<A>): Promise<{ readonly done: A; readonly turns: number }> {
    const over = new AbortController();
    let turns = 0;
    const count = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await turn();
        turns += 1;
      }
    };
    const counted = count();
    const done = await work;
    over.abort();
    await counted;
    return { done, turns };
  }

  it.each([0, 1, 500, 501, 5000])('is serialised like any other: %i items', async (length) => {
    const item = (index: number) => ({ index, text: new JsonText('{ "a": 1.0 }') });
    const data = { name: 'x', list: Array.from({ length }, (_, index) => item(index)), none: null };
    const meta = { generated_at: 'now' };
    const { done, turns } = await turnsDuring(serialisedAnswer(data, meta));
    expect(done).toBe(serialisedData({ data, meta }));
    expect(turns).toBeGreaterThanOrEqual(Math.ceil(length / 500) - 1);
  });

  it('leaves turns of the event loop to other work, as that of all budgets does', async () => {
    const now = new Date();
    const owners = Array.from({ length: 5000 }, (_, index) => ({
      owner:
        index % 2 === 0
          ? { kind: 'user' as const, userId: `user-${index}` }
          : { kind: 'team' as const, teamId: `team-${index}` },
      name: `Owner ${index}`,
      email: undefined,
      active: true,
      budget: undefined,
      currentWindow: { from: now, until: now, spent: 0n, blockedAnswers: { count: 0, cost: 0n } },
      alertRecipients: [],
    }));
    const { done, turns } = await turnsDuring(presentOwners(owners));
    const ids = Array.from({ length: 2500 }, (_, index) => index * 2);
    expect(done.users.map(({ user_id }) => user_id)).toEqual(ids.map((id) => `user-${id}`));
    expect(done.teams.map(({ team_id }) => team_id)).toEqual(ids.map((id) => `team-${id + 1}`));
    expect(turns).toBeGreaterThanOrEqual(9);
  });
});
