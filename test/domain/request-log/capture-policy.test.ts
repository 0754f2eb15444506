import { describe, expect, it } from '@jest/globals';
import {
  type CaptureMode,
  isKept,
  isLogged,
  payloadPolicyVersion,
} from '../../../domain/request-log/capture-policy.ts';
import { aCaller, serviceAccountKey, teamKey, userKey } from '../../support/arbitraries/callers.ts';

describe('whether a request is logged, and its bodies are kept, depends on the capture mode and the owner of the key', () => {
  it.each([
    ['disabled', 'a user with logging on', userKey(true), false],
    ['disabled', 'a user with logging off', userKey(false), false],
    ['disabled', 'a team key', teamKey, false],
    ['disabled', 'a service account', serviceAccountKey, false],
    ['summary_only', 'a user with logging on', userKey(true), true],
    ['summary_only', 'a user with logging off', userKey(false), false],
    ['summary_only', 'a team key', teamKey, true],
    ['summary_only', 'a service account', serviceAccountKey, true],
    ['redacted_payloads', 'a user with logging on', userKey(true), true],
    ['redacted_payloads', 'a user with logging off', userKey(false), false],
    ['redacted_payloads', 'a team key', teamKey, true],
    ['redacted_payloads', 'a service account', serviceAccountKey, true],
  ] as const satisfies readonly (readonly [CaptureMode, ...unknown[]])[])(
    '%s, %s',
    (mode, _, keyOwner, logged) => {
      expect(isLogged(mode, aCaller(keyOwner))).toBe(logged);
      expect(isKept(mode, aCaller(keyOwner))).toBe(logged && mode === 'redacted_payloads');
    },
  );

  it('the current policy version is builtin:v2', () => {
    expect(payloadPolicyVersion).toBe('builtin:v2');
  });
});
