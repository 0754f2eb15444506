import { describe, expect, it } from '@jest/globals';
import {
  type ErrorCode,
  errorStatus,
  invalidRequest,
  outcomeOf,
  statusOf,
  storeUnavailable,
} from '../../../domain/shared/gateway-error.ts';

const rows: readonly (readonly [ErrorCode, number, string])[] = [
  ['missing_api_key', 401, 'unauthenticated'],
  ['invalid_api_key', 401, 'unauthenticated'],
  ['session_required', 401, 'unauthenticated'],
  ['invalid_credentials', 401, 'unauthenticated'],
  ['second_factor_required', 401, 'unauthenticated'],
  ['enrolment_required', 403, 'forbidden'],
  ['admin_required', 403, 'forbidden'],
  ['cross_origin', 403, 'forbidden'],
  ['too_many_attempts', 429, 'forbidden'],
  ['model_not_granted', 403, 'forbidden'],
  ['not_found', 404, 'not_found'],
  ['model_not_found', 404, 'not_found'],
  ['not_supported', 404, 'invalid_request'],
  ['method_not_allowed', 405, 'invalid_request'],
  ['websocket_unsupported', 426, 'invalid_request'],
  ['duplicate_request_id', 409, 'invalid_request'],
  ['conflict', 409, 'invalid_request'],
  ['request_too_large', 413, 'invalid_request'],
  ['invalid_request', 400, 'invalid_request'],
  ['thread_unsupported_request', 400, 'invalid_request'],
  ['budget_exceeded', 429, 'budget_error'],
  ['too_many_requests', 429, 'overloaded'],
  ['rate_limited', 429, 'overloaded'],
  ['no_routes_available', 503, 'no_routes_available'],
  ['overloaded', 503, 'overloaded'],
  ['store_unavailable', 503, 'overloaded'],
  ['shutting_down', 503, 'interrupted'],
  ['sign_in_unavailable', 503, 'overloaded'],
  ['upstream_error', 502, 'upstream_error'],
  ['internal_error', 500, 'internal_error'],
];

describe('every error code has one status and one outcome label', () => {
  it.each(rows)('%s is %d, outcome %s', (code, status, outcome) => {
    expect([statusOf[code], outcomeOf[code]]).toEqual([status, outcome]);
    expect(errorStatus({ code, message: '' })).toBe(status);
  });

  it('there are no other error codes', () => {
    expect(Object.keys(statusOf).toSorted()).toEqual(rows.map(([code]) => code).toSorted());
    expect(Object.keys(outcomeOf).toSorted()).toEqual(rows.map(([code]) => code).toSorted());
  });
});

describe('an error', () => {
  it('of an upstream has the upstream’s status', () => {
    expect(errorStatus({ code: 'upstream_error', message: '', upstream: { status: 429 } })).toBe(429);
  });

  it('of a request names the field at fault, if there is one', () => {
    expect(invalidRequest('No.', 'model')).toEqual({
      code: 'invalid_request',
      message: 'No.',
      param: 'model',
    });
    expect(invalidRequest('No.')).toEqual({ code: 'invalid_request', message: 'No.' });
  });

  it('of the database has a delay after which to retry', () => {
    expect(storeUnavailable()).toMatchObject({ code: 'store_unavailable', retryAfterSecs: 5 });
  });
});
