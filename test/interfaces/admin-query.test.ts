import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { choiceInput, optionalInput, otherwise } from '../../interfaces/http/admin/inputs.ts';
import {
  flagParam,
  instantParam,
  readPage,
  readQuery,
  requestIdText,
  sha256,
  nameParam,
  uuid,
  integerParam,
} from '../../interfaces/http/admin/query.ts';

const shape = {
  days: otherwise(integerParam(1, 366), 30),
  owner_kind: otherwise(choiceInput(['all', 'user', 'team']), 'all'),
  status: optionalInput(choiceInput(['success', 'timeout'])),
  user_id: uuid,
  team_id: nameParam,
  request_id: requestIdText,
  digest: sha256,
  failed: flagParam,
  from: instantParam,
};
const aUuid = '019abcde-0000-7000-8000-000000000000';
const read = (query: string) => readQuery(new URLSearchParams(query), shape);
const paramOf = (read: E.Either<{ readonly param?: string }, unknown>) =>
  E.isLeft(read) ? read.left.param : 'nothing';

describe('the query of an admin call', () => {
  it('has defaults', () => {
    expect(read('')).toEqual(
      E.right({
        days: 30,
        owner_kind: 'all',
        status: undefined,
        user_id: undefined,
        team_id: undefined,
        request_id: undefined,
        digest: undefined,
        failed: undefined,
        from: undefined,
      }),
    );
    expect(E.isRight(readQuery(new URLSearchParams(), {}))).toBe(true);
  });

  it('is parsed into typed values', () => {
    const id = aUuid.toUpperCase();
    const query = `days=366&owner_kind=team&status=timeout&user_id=${id}&request_id=a%20%26&digest=${'A'.repeat(64)}&failed=false&from=2026-01-31T23:59:59.5%2B01:00`;
    expect(read(query)).toEqual(
      E.right({
        days: 366,
        owner_kind: 'team',
        status: 'timeout',
        user_id: aUuid,
        team_id: undefined,
        request_id: 'a &',
        digest: 'a'.repeat(64),
        failed: false,
        from: new Date('2026-01-31T22:59:59.500Z'),
      }),
    );
  });

  it.each([
    ['day=7', 'day'],
    ['Days=7', 'Days'],
    ['days%20=7', 'days '],
    ['days=7&days=7', 'days'],
    ['days=', 'days'],
    ['days=0', 'days'],
    ['days=367', 'days'],
    ['days=7.0', 'days'],
    ['days=%207', 'days'],
    ['days=0x7', 'days'],
    ['days=1e1', 'days'],
    ['days=-1', 'days'],
    ['days=99999999999999999999', 'days'],
    ['owner_kind=USER', 'owner_kind'],
    ['owner_kind=', 'owner_kind'],
    ['owner_kind=toString', 'owner_kind'],
    ['toString=1', 'toString'],
    ['status=nope', 'status'],
    ['user_id=1', 'user_id'],
    [`user_id=${aUuid}0`, 'user_id'],
    [`user_id=0${aUuid}`, 'user_id'],
    ['request_id=', 'request_id'],
    ['request_id=a%00b', 'request_id'],
    [`request_id=${'x'.repeat(32 * 1024 + 1)}`, 'request_id'],
    [`team_id=${'x'.repeat(1025)}`, 'team_id'],
    [`digest=${'0'.repeat(63)}`, 'digest'],
    [`digest=${'0'.repeat(65)}`, 'digest'],
    [`digest=x${'0'.repeat(64)}`, 'digest'],
    ['failed=TRUE', 'failed'],
    ['failed=', 'failed'],
    [`digest=${'g'.repeat(64)}`, 'digest'],
    ['from=2026-01-31', 'from'],
    ['from=2026-02-30T00:00:00Z', 'from'],
    ['from=2026-01-31T24:00:00Z', 'from'],
    ['from=2026-01-31T00:00:60Z', 'from'],
    ['from=2026-01-31T00:00:00', 'from'],
    ['from=2026-01-31T00:00:00+01:00', 'from'],
    ['from=yesterday', 'from'],
    ['from=%202026-01-31T00:00:00Z', 'from'],
    ['from=2026-01-31T00:00:00Z%20', 'from'],
    ['from=2026-01-31T00:00:00.0000000001Z', 'from'],
    ['from=9999-12-31T23:59:59-14:00', 'from'],
    ['from=0000-01-01T00:00:00%2B14:00', 'from'],
  ])('%s is 400 `invalid_request` that names the parameter', (query, param) => {
    const fault = read(query);
    expect(fault).toMatchObject({ left: { code: 'invalid_request', param } });
  });

  it('may have names of 1,024 characters and request ids of 32 KiB', () => {
    const [name, id] = ['x'.repeat(1024), 'x'.repeat(32 * 1024)];
    expect(read(`team_id=${name}&request_id=${id}`)).toMatchObject(
      E.right({ team_id: name, request_id: id }),
    );
  });

  it("has a short error message, however long a parameter's name is", () => {
    const fault = read(`${'n'.repeat(10_000)}=1`);
    expect(JSON.stringify(fault).length).toBeLessThan(600);
  });

  it('of an endpoint without parameters must be empty', () => {
    expect(paramOf(readQuery(new URLSearchParams('days=7'), {}))).toBe('days');
  });

  it('has instants of RFC 3339 with up to nine digits of a second, in letters of either case', () => {
    const instant = new Date('2026-01-31T00:00:00.123Z');
    for (const spelled of ['2026-01-31T00:00:00.123456789Z', '2026-01-31t00:00:00.123z'])
      expect(read(`from=${spelled}`)).toMatchObject({ right: { from: instant } });
  });

  it('keeps every instant exactly', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
        (date) => {
          expect(read(`from=${date.toISOString()}`)).toMatchObject({ right: { from: date } });
        },
      ),
    );
  });
});

describe('a page', () => {
  const page = (query: string) => readPage(new URLSearchParams(query), { status: nameParam });

  it('is page 1 with 50 items by default', () => {
    expect(readPage(new URLSearchParams(), {})).toEqual(E.right({ page: 1, pageSize: 50 }));
    expect(page('status=x')).toEqual(E.right({ page: 1, pageSize: 50, status: 'x' }));
  });

  it.each([
    ['page=0', 'page'],
    ['page=1&page=2', 'page'],
    ['page_size=0', 'page_size'],
    ['page_size=201', 'page_size'],
    ['pagesize=10', 'pagesize'],
    ['page=501&page_size=200', 'page'],
    ['page=2001', 'page'],
    ['page=100001&page_size=1', 'page'],
  ])('%s is 400 `invalid_request`', (query, param) => {
    expect(paramOf(page(query))).toBe(param);
  });

  it('has page × page_size of at most 100,000, and every such page is allowed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200_000 }), fc.integer({ min: 1, max: 300 }), (number, size) => {
        const read = page(`page=${number}&page_size=${size}`);
        expect(E.isRight(read)).toBe(size <= 200 && number * size <= 100_000);
      }),
      {
        examples: [
          [1, 1],
          [500, 200],
          [100_000, 1],
        ],
      },
    );
  });
});
