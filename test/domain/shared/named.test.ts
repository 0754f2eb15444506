import { expect, it } from '@jest/globals';
import { type Amount10000, fromAmount10000, toUsd, toUsd10000 } from '../../../domain/money/money.ts';
import type { RequestId, RequestLogId } from '../../../domain/request-log/request-ids.ts';

it('the types reject one scale of money in place of the other, and accept a literal for either', () => {
  const amount: Amount10000 = 12_500n;
  expect(toUsd(fromAmount10000(amount))).toBe('1.25');
  // @ts-expect-error -- units of 1e-4 USD are not picodollars
  expect(toUsd(amount)).not.toBe('1.25');
  // @ts-expect-error -- picodollars are not units of 1e-4 USD
  expect(fromAmount10000(fromAmount10000(amount))).not.toBe(amount);
  // @ts-expect-error -- an amount that was rounded for display is no longer exact money
  expect(toUsd10000(toUsd10000(fromAmount10000(amount)))).not.toBe(amount);
});

it('the types reject the request id that a caller sees in place of the id of a log row', () => {
  const rowOf = (requestLogId: RequestLogId): string => requestLogId;
  const requestId: RequestId = 'req-1';
  expect(rowOf('0190a1b2')).toBe('0190a1b2');
  // @ts-expect-error -- several rows may have the same request id
  expect(rowOf(requestId)).toBe('req-1');
});
