import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { type ExportedDay, type ExportOrder, exportRange } from '../../application/export/export-range.ts';
import type { ExportSource, ObjectStorage } from '../../application/ports/export.ts';
import { exportColumns, type ExportRow, type ExportSubject } from '../../domain/export/export-columns.ts';

interface Row {
  readonly id: string;
  readonly at: string;
  readonly cost: bigint | undefined;
}

const cellsOf = (subject: ExportSubject, { id, at, cost }: Row): ExportRow =>
  exportColumns[subject].map(({ name }) => {
    if (name === 'request_log_id') return id;
    if (name === 'ownership_scope_key') return `scope of ${id}`;
    if (name === 'occurred_at') return at;
    return name === 'cost_picousd' && cost !== undefined ? String(cost) : null;
  });

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A table and a bucket in memory; `before` is called before each call of the bucket. */
function aScene(subject: ExportSubject = 'ledger') {
  const rows = new Map<string, Row[]>();
  const objects = new Map<string, string>();
  const calls: string[] = [];
  const scene = {
    now: '2026-11-10T12:00:00Z',
    before: (_call: string): string | undefined => undefined,
    whilePaging: (): void => undefined,
  };
  const of = (day: string): Row[] => rows.get(day) ?? [];
  const source: ExportSource = {
    now: async () => new Date(scene.now),
    totalsOf: async (day) => ({
      rows: of(day).length,
      cost: subject === 'ledger' ? of(day).reduce((sum, { cost }) => sum + (cost ?? 0n), 0n) : undefined,
    }),
    rowsOf: async function* (day) {
      const found = of(day).toSorted((one, other) => (one.id < other.id ? -1 : 1));
      for (let from = 0; from < found.length; from += 2) {
        yield found.slice(from, from + 2).map((row) => cellsOf(subject, row));
        scene.whilePaging();
      }
    },
    holds: async ({ requestLogId, scope }) =>
      [...rows.values()].flat().some(({ id }) => id === requestLogId && `scope of ${id}` === scope),
  };
  const call = (name: string) => {
    calls.push(name);
    return scene.before(name);
  };
  const asked = <A>(name: string, value: () => A): E.Either<string, A> => {
    const fault = call(name);
    return fault === undefined ? E.right(value()) : E.left(fault);
  };
  const storage: ObjectStorage = {
    read: async (key) => asked(`read ${key}`, () => objects.get(key)),
    write: async (key, bytes) =>
      asked(`write ${key}`, () => void objects.set(key, new TextDecoder().decode(bytes))),
    remove: async (key) => asked(`remove ${key}`, () => void objects.delete(key)),
    list: async (prefix) =>
      asked(`list ${prefix}`, () => [...objects.keys()].filter((key) => key.startsWith(prefix))),
  };
  const run = async (over: Partial<ExportOrder> = {}) => {
    const told: ExportedDay[] = [];
    const done = await exportRange(
      {
        source,
        storage,
        part: {
          extension: over.format === 'csv' ? 'csv.gz' : 'parquet',
          contentType: 'text/plain',
          encode: (_, some) => new TextEncoder().encode(some.map((row) => row[0]).join(' ')),
        },
        digest,
        bounds: { rows: 4, chars: 100_000 },
      },
      (day) => void told.push(day),
    )({
      subject,
      from: '2026-11-01',
      to: '2026-11-03',
      prefix: 'p',
      format: 'parquet',
      shouldContinue: () => true,
      ...over,
    });
    return { done, told };
  };
  const add = (day: string, ...ids: readonly string[]): void => {
    const some = ids.map((id, at) => ({
      id,
      at: `${day}T00:00:00.00000${at}Z`,
      cost: BigInt(id.length) * 10n ** 20n,
    }));
    rows.set(day, [...of(day), ...some]);
  };
  /** The row ids that a reader gets through the manifest of a day; undefined without a manifest. */
  const readBack = (day: string, alone = true): readonly string[] | undefined => {
    const folder = `p/${subject}/day=${day}/`;
    const text = objects.get(`${folder}manifest.json`);
    if (text === undefined) return undefined;
    const manifest: { rows: number; parts: { name: string; sha256: string; rows: number }[] } =
      JSON.parse(text);
    const names = [...objects.keys()].filter((key) => key.startsWith(`${folder}part-`));
    if (alone) expect(names.sort()).toEqual(manifest.parts.map(({ name }) => `${folder}${name}`));
    const ids = manifest.parts.flatMap(({ name, sha256 }) => {
      const object = objects.get(`${folder}${name}`) ?? '';
      expect(digest(new TextEncoder().encode(object))).toBe(sha256);
      return object.split(' ');
    });
    expect(ids).toHaveLength(manifest.rows);
    return ids;
  };
  return { scene, rows, objects, calls, add, run, readBack };
}

const key = (day: string, name: string): string => `p/ledger/day=${day}/${name}`;

describe('an export', () => {
  let at = aScene();
  beforeEach(() => {
    at = aScene();
    at.add('2026-11-01', 'a', 'bb', 'ccc', 'dddd', 'eeeee');
    at.add('2026-11-03', 'z');
  });

  it('writes the parts of each day, then its manifest, and no day outside the range', async () => {
    expect(await at.run()).toMatchObject({
      done: E.right({ days: 2, leftFrom: undefined }),
      told: [
        { day: '2026-11-01', state: 'written', rows: 5, parts: 2, cost: 15n * 10n ** 20n },
        { day: '2026-11-02', state: 'written', rows: 0, parts: 0, cost: 0n },
      ],
    });
    expect(at.calls.filter((call) => call.startsWith('write'))).toEqual([
      `write ${key('2026-11-01', 'part-00000.parquet')}`,
      `write ${key('2026-11-01', 'part-00001.parquet')}`,
      `write ${key('2026-11-01', 'manifest.json')}`,
      `write ${key('2026-11-02', 'manifest.json')}`,
    ]);
    expect([at.readBack('2026-11-01'), at.readBack('2026-11-02')]).toEqual([
      ['a', 'bb', 'ccc', 'dddd', 'eeeee'],
      [],
    ]);
  });

  it('skips days that are not complete, and reports the first of them', async () => {
    at.scene.now = '2026-11-02T00:00:30Z';
    expect(await at.run()).toEqual({ done: E.right({ days: 0, leftFrom: '2026-11-01' }), told: [] });
    at.scene.now = '2026-11-02T00:01:00Z';
    expect((await at.run()).done).toEqual(E.right({ days: 1, leftFrom: '2026-11-02' }));
    expect(at.readBack('2026-11-02')).toBeUndefined();
    expect((await at.run({ to: undefined })).done).toEqual(E.right({ days: 1, leftFrom: undefined }));
    expect((await at.run({ from: '2026-12-01', to: '2026-12-03' })).done).toEqual(
      E.right({ days: 0, leftFrom: '2026-12-01' }),
    );
    at.scene.now = '2026-11-03T00:01:00Z';
    expect((await at.run()).done).toEqual(E.right({ days: 2, leftFrom: undefined }));
  });

  it('fails if the storage does not say what lies beside a day that stays as it is', async () => {
    await at.run();
    at.scene.before = (call) => (call.startsWith('list') ? 'the storage is away' : undefined);
    expect(await at.run()).toEqual({ done: E.left('the storage is away'), told: [] });
  });

  it('of more than ten years is rejected without a storage call', async () => {
    expect((await at.run({ from: '2016-01-01' })).done).toMatchObject({
      left: expect.stringContaining('ten'),
    });
    expect(at.calls).toEqual([]);
  });

  it('in a second run changes nothing and reads no rows', async () => {
    const { told: first } = await at.run();
    const before = new Map(at.objects);
    at.calls.length = 0;
    at.scene.whilePaging = () => {
      throw new Error('rows were read');
    };
    expect((await at.run()).told).toEqual(first.map((day) => ({ ...day, state: 'unchanged' })));
    expect(at.calls.filter((call) => !call.startsWith('read') && !call.startsWith('list'))).toEqual([]);
    expect(at.objects).toEqual(before);
  });

  it('that fails at any call leaves no wrong manifest, and the next run writes the same objects', () =>
    fc.assert(
      fc.asyncProperty(fc.nat({ max: 14 }), fc.boolean(), async (failing, replaced) => {
        const whole = aScene();
        const broken = aScene();
        for (const each of [whole, broken]) {
          each.add('2026-11-01', 'a', 'bb', 'ccc', 'dddd', 'eeeee');
          if (replaced) await each.run();
          each.add('2026-11-01', 'f', 'g', 'h', 'i');
        }
        await whole.run();
        let calls = 0;
        broken.scene.before = () => (calls++ === failing ? 'the storage is away' : undefined);
        const { done } = await broken.run();
        if (calls > failing) expect(done).toEqual(E.left('the storage is away'));
        // A complete day stays complete until it is replaced by one with more rows.
        const seen = broken.readBack('2026-11-01', false);
        expect(replaced ? [5, 9] : [undefined, 9]).toContain(seen?.length);
        broken.scene.before = () => undefined;
        expect(E.isRight((await broken.run()).done)).toBe(true);
        expect(broken.objects).toEqual(whole.objects);
      }),
    ));

  it('rewrites a day that has more rows, and its manifest never mixes parts of two runs', async () => {
    await at.run();
    at.add('2026-11-01', 'bab');
    at.scene.before = (call) => {
      if (call.startsWith('write') && call.includes('part'))
        expect(at.readBack('2026-11-01', false)).toHaveLength(5);
      return undefined;
    };
    expect((await at.run()).told.map(({ state }) => state)).toEqual(['written', 'unchanged']);
    expect(at.readBack('2026-11-01')).toEqual(['a', 'bab', 'bb', 'ccc', 'dddd', 'eeeee']);
  });

  it('in another format replaces the day, and removes its old parts', async () => {
    at.objects.set(key('2026-11-01', 'notes.txt'), 'not ours');
    await at.run();
    await at.run({ format: 'csv' });
    expect([...at.objects.keys()].filter((each) => each.includes('2026-11-01')).sort()).toEqual(
      ['manifest.json', 'notes.txt', 'part-00000-2.csv.gz', 'part-00001-2.csv.gz'].map((name) =>
        key('2026-11-01', name),
      ),
    );
    expect(at.readBack('2026-11-01')).toHaveLength(5);
  });

  it('reads a day again if its rows changed meanwhile, so that rows and totals match', async () => {
    let late = true;
    at.scene.whilePaging = () => {
      if (late) at.add('2026-11-01', 'aa');
      late = false;
    };
    expect((await at.run()).told[0]).toMatchObject({ rows: 6 });
    expect(at.readBack('2026-11-01')).toEqual(['a', 'aa', 'bb', 'ccc', 'dddd', 'eeeee']);
  });

  it('fails without a manifest after three attempts if the rows of a day keep changing', async () => {
    let count = 0;
    at.scene.whilePaging = () => at.add('2026-11-01', `a${(count += 1)}`);
    const { done } = await at.run();
    expect(done).toMatchObject({ left: expect.stringContaining('gateway ledger verify') });
    expect(at.calls.filter((call) => call.endsWith('part-00000.parquet'))).toHaveLength(3);
    expect(at.readBack('2026-11-01')).toBeUndefined();
  });

  it('ends before the day is complete when it is stopped', async () => {
    let asked = 0;
    const { done } = await at.run({ shouldContinue: () => (asked += 1) < 2 });
    expect(done).toEqual(E.left('stopped before 2026-11-01 was whole'));
    expect(at.readBack('2026-11-01')).toBeUndefined();
  });

  it.each([
    '{"version": 9}',
    '[]',
    'half of a mani',
    '{"version": 1, "edition": 1, "format": "csv", "parts": []}',
    '{"version": 1, "rows": 0, "format": "csv", "parts": []}',
    '{"version": 1, "rows": 0, "edition": 1, "format": "avro", "parts": []}',
    '{"version": 1, "rows": 0, "edition": 1, "format": "csv"}',
    '{"version": 1, "rows": 0, "edition": 1, "format": "csv", "parts": [], "cost_picousd": 3}',
    '{"version": 1, "rows": 0, "edition": 1, "format": "csv", "parts": [], "cost_picousd": "many"}',
  ])('never replaces a manifest that it did not write: %s', async (text) => {
    at.objects.set(key('2026-11-01', 'manifest.json'), text);
    expect((await at.run()).done).toMatchObject({ left: expect.stringContaining('it is not replaced') });
    expect([...at.objects.values()]).toEqual([text]);
  });

  it('rewrites a day with the same number of rows but another cost', async () => {
    await at.run();
    at.rows.set(
      '2026-11-01',
      (at.rows.get('2026-11-01') ?? []).map((row) => ({ ...row, cost: 1n })),
    );
    expect((await at.run()).told[0]).toMatchObject({ state: 'written', rows: 5, cost: 5n });
    expect(at.objects.get(key('2026-11-01', 'manifest.json'))).toMatch(/"cost_picousd": ?"?5\b/);
    expect(at.readBack('2026-11-01')).toHaveLength(5);
  });

  it('never replaces a day of the ledger with fewer rows', async () => {
    await at.run();
    const before = new Map(at.objects);
    at.rows.set('2026-11-01', []);
    expect((await at.run()).done).toMatchObject({ left: expect.stringContaining('it is not replaced') });
    expect(at.objects).toEqual(before);
  });
});

describe('an export of request logs', () => {
  it('keeps a day whose rows are being purged, even if late rows were added', async () => {
    const at = aScene('request-logs');
    at.add('2026-11-01', 'a', 'bb', 'ccc');
    await at.run();
    const before = new Map(at.objects);
    at.rows.set('2026-11-01', (at.rows.get('2026-11-01') ?? []).slice(1));
    expect((await at.run()).told[0]).toMatchObject({ state: 'purged since', rows: 3 });
    at.add('2026-11-01', 'x', 'y', 'zz');
    expect((await at.run()).told[0]).toMatchObject({ state: 'purged since', rows: 3 });
    expect(at.objects).toEqual(before);
  });

  it.each([
    ['the day before', 'a'],
    ['the day itself', 'c'],
  ])(
    'keeps a day whose rows in the partition of %s are dropped, even if late rows were added',
    async (_, gone) => {
      const at = aScene('request-logs');
      const day = '2026-11-01';
      at.add(day, 'b', 'a', 'c');
      await at.run();
      const before = new Map(at.objects);
      at.rows.set(
        day,
        (at.rows.get(day) ?? []).filter(({ id }) => id !== gone),
      );
      at.add(day, 'x', 'y');
      expect((await at.run()).told[0]).toMatchObject({ state: 'purged since', rows: 3 });
      expect(at.objects).toEqual(before);
    },
  );

  it('keeps a day whose oldest row is purged, although other rows have lower and higher ids', async () => {
    const at = aScene('request-logs');
    at.add('2026-11-01', 'b', 'a', 'c');
    await at.run();
    const before = new Map(at.objects);
    at.rows.set('2026-11-01', (at.rows.get('2026-11-01') ?? []).slice(1));
    at.add('2026-11-01', 'x', 'y');
    expect((await at.run()).told[0]).toMatchObject({ state: 'purged since', rows: 3 });
    expect(at.objects).toEqual(before);
  });

  it.each(['bb', 'ccc'])('keeps a day whose first row exists but another does not: %s', async (gone) => {
    const at = aScene('request-logs');
    at.add('2026-11-01', 'a', 'bb', 'ccc');
    await at.run();
    const before = new Map(at.objects);
    at.rows.set(
      '2026-11-01',
      (at.rows.get('2026-11-01') ?? []).filter(({ id }) => id !== gone),
    );
    expect((await at.run()).told[0]).toMatchObject({ state: 'purged since', rows: 3 });
    expect(at.objects).toEqual(before);
  });

  it('in another format replaces a day of which no row is purged', async () => {
    const at = aScene('request-logs');
    at.add('2026-11-01', 'a', 'bb', 'ccc');
    await at.run();
    expect((await at.run({ format: 'csv' })).told[0]).toMatchObject({ state: 'written', rows: 3 });
    expect(at.readBack('2026-11-01')).toHaveLength(3);
  });

  it('never loses an exported row of a day when a purge begins at any time', () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({
          beginsAt: fc.nat({ max: 20 }),
          taken: fc.integer({ min: 1, max: 6 }),
          late: fc.nat({ max: 6 }),
          format: fc.constantFrom('parquet' as const, 'csv' as const),
        }),
        async ({ beginsAt, taken, late, format }) => {
          const at = aScene('request-logs');
          const day = '2026-11-01';
          at.add(day, 'a', 'b', 'c', 'd', 'e');
          await at.run();
          at.add(day, ...['f', 'g', 'h', 'i', 'j', 'k'].slice(0, late));
          let steps = 0;
          const step = (): undefined => {
            if (steps++ === beginsAt) at.rows.set(day, (at.rows.get(day) ?? []).slice(taken));
          };
          at.scene.before = step;
          at.scene.whilePaging = step;
          await at.run({ format });
          expect(at.readBack(day, false)).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd', 'e']));
          await at.run({ format });
          expect(at.readBack(day)).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd', 'e']));
        },
      ),
    ));

  it('adds late rows to a day that had none', async () => {
    const at = aScene('request-logs');
    await at.run();
    at.add('2026-11-01', 'a');
    expect((await at.run()).told[0]).toMatchObject({ state: 'written', rows: 1 });
    expect(at.readBack('2026-11-01')).toEqual(['a']);
  });

  it('adds late rows to a day of which no row is purged', async () => {
    const at = aScene('request-logs');
    at.add('2026-11-01', 'b');
    await at.run();
    at.add('2026-11-01', 'a');
    expect((await at.run()).told[0]).toMatchObject({ state: 'written', rows: 2, cost: undefined });
    expect(at.readBack('2026-11-01')).toEqual(['a', 'b']);
  });
});
