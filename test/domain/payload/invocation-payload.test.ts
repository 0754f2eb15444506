import { describe, expect, it } from '@jest/globals';
import { type InvocationPayload, redactedInvocation } from '../../../domain/payload/invocation-payload.ts';
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

it('arguments are redacted at the paths of `arguments`', () => {
  const stored = redactedInvocation(
    { arguments: { name: 'Ada', id: 7 }, result: undefined },
    redactionRules(['arguments.name'], []),
  );
  expect(stored).toEqual({
    arguments: { text: '{"name":"[REDACTED]","id":7}', truncated: false },
    result: undefined,
  });
});

describe('what a tool answered', () => {
  const answered = (payload: Omit<InvocationPayload, 'arguments'>, paths: readonly string[] = []) => {
    const { result } = redactedInvocation(
      { arguments: undefined, ...payload },
      redactionRules(paths, [credential]),
    );
    return result === undefined ? undefined : JSON.parse(result.text);
  };

  it.each<[string, Omit<InvocationPayload, 'arguments'>, object | null | undefined]>([
    ['the result', { result: { a: 1 } }, { a: 1 }],
    ['the result, although there is an error', { result: { a: 1 }, error: { code: 2 } }, { a: 1 }],
    ['the error, if there is no result', { result: undefined, error: { code: 2 } }, { code: 2 }],
    ['the error, if the result is null', { result: null, error: { code: 2 } }, { code: 2 }],
    ['null, if there is no error', { result: null }, null],
    ['nothing, if there is neither', { result: undefined }, undefined],
  ])('is %s', (_, payload, expected) => {
    expect(answered(payload)).toEqual(expected);
  });

  it('is redacted at the paths of `result`, and where a credential is, also if it is an error', () => {
    const data = { name: 'Ada', at: `x ${credential}`, id: 7 };
    const redacted = { name: '[REDACTED]', at: 'x [REDACTED]', id: 7 };
    const paths = ['result.data.name', 'error.data.id'];
    expect(answered({ result: { data } }, paths)).toEqual({ data: redacted });
    expect(answered({ result: undefined, error: { data } }, paths)).toEqual({ data: redacted });
    expect(answered({ result: undefined, error: { data } }, ['error.data.id'])).toEqual({
      data: { ...redacted, name: 'Ada' },
    });
  });
});
