import { describe, expect, it } from '@jest/globals';
import { redactedInvocation } from '../../../domain/payload/invocation-payload.ts';
import { redactionRules } from '../../../domain/payload/redact.ts';

const credential = 'configured-credential-0123456789';
const rules = redactionRules([], [credential]);
const kept = (value: object) => {
  const stored = redactedInvocation({ arguments: { ...value }, result: undefined }, rules).arguments;
  return { value: JSON.parse(stored?.text ?? ''), truncated: stored?.truncated };
};

describe('arguments of more than 1 MiB', () => {
  it('keep short texts; long texts are left out as a whole, with any secrets in them', () => {
    const content = `${'x'.repeat(2_000_000)}${credential.slice(0, -1)}`;
    expect(kept({ path: `/a/${credential}`, content })).toEqual({
      value: { path: '/a/[REDACTED]', content: `[TRUNCATED ${content.length} characters]` },
      truncated: true,
    });
  });

  it('are left out as a whole if they consist of many short texts', () => {
    const { value, truncated } = kept({ all: Array.from({ length: 500 }, () => '\\"'.repeat(4000)) });
    expect(value).toMatch(/^\[TRUNCATED \d+ characters\]$/);
    expect(truncated).toBe(true);
  });
});
