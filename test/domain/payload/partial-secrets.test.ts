import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { partialSecretEdits, withoutPartialSecrets } from '../../../domain/payload/partial-secrets.ts';
import { forCaller, redactedError, redactionRules } from '../../../domain/payload/redact.ts';
import { secretsOf, withSecrets } from '../../../domain/payload/secrets.ts';
import { edited } from '../../../domain/text/text-edits.ts';
import { maxErrorMessageChars, maxUpstreamErrorBytes } from '../../../domain/shared/limits.ts';
import { namedKey } from '../../../domain/shared/named-key.ts';
import { boundedMessage, sanitisedStart } from '../../../domain/upstream/upstream-fault.ts';
import { aCredential } from '../../support/arbitraries/payloads.ts';
import { textOf } from '../../support/arbitraries/text.ts';
import { costWithin } from '../../support/cost.ts';

/** The forms in which a secret may occur in a text. */
const spellings: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => JSON.stringify(secret).slice(1, -1),
  (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  (secret) => encodeURIComponent(secret),
];

const aKey = fc
  .tuple(textOf('0123456789abcdefXYZ_-', 1, 40), textOf('0123456789abcdefXYZ_-', 32, 80))
  .map(([id, secret]) => `gwk_${id}.${secret}`);
const aToken = fc
  .tuple(textOf('0123456789abcdef', 32, 32), textOf('0123456789abcdef', 64, 64))
  .map(([id, secret]) => `gwa_${id}.${secret}`);

const aCut = fc.record({
  before: fc.string({ maxLength: 30 }).filter((text) => !/sk|gw[ka]/.test(text)),
  secret: aCredential,
  how: fc.constantFrom(...spellings),
  kept: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

const cutOff = (text: string, secrets: ReturnType<typeof secretsOf>): string =>
  edited(text, partialSecretEdits(text, secrets));

describe('a text that was cut off', () => {
  it('does not end with a part of a credential, wherever it was cut and however that was encoded', () => {
    fc.assert(
      fc.property(aCut, ({ before, secret, how, kept }) => {
        const half = how(secret).slice(0, Math.floor(how(secret).length * kept));
        fc.pre(half.length >= 8);
        const others = secretsOf(['another-credential']);
        for (const secrets of [secretsOf(['another-credential', secret]), withSecrets(others, [secret])])
          expect(cutOff(before + half, secrets)).toBe(`${before}[REDACTED]`);
      }),
      { numRuns: 2000 },
    );
  });

  it('does not end with a part of any caller’s key or admin’s API token, even of an unknown one', () => {
    fc.assert(
      fc.property(fc.oneof(aKey, aToken), fc.nat(), (key, at) => {
        const half = key.slice(0, 4 + (at % (key.length - 4)));
        expect(cutOff(`my key: ${half}`, secretsOf([]))).toBe('my key: [REDACTED]');
      }),
    );
  });

  it.each(['', 'sk', 'sk-', 'the task', 'ask-me', 'sk-other', 'sk-configured and more', 'configured-0123'])(
    'is unchanged if it ends with anything else: %j',
    (text) => {
      expect(partialSecretEdits(text, secretsOf(['sk-configured-0123456789']))).toEqual([]);
    },
  );

  it('is searched only near its end, so that a large text takes little time', () => {
    const secrets = secretsOf(
      Array.from({ length: 200 }, (_, index) => `aa${index}aaaaaaaaaaaaaaaaaaaaaaaaaaa`),
    );
    const work = (): void => {
      for (const text of ['a'.repeat(5_000_000), 'aa1'.repeat(1_000_000)]) partialSecretEdits(text, secrets);
    };
    expect(costWithin(1000, work)).toBeLessThan(1000);
  });
});

describe('a key that is quoted and cut off in an error message', () => {
  it('does not show a part of a secret before the cut', () => {
    fc.assert(
      fc.property(aCredential, aKey, fc.nat(130), fc.boolean(), (credential, key, at, ofCaller) => {
        const rules = forCaller(redactionRules([], [credential]), [key]);
        const secret = ofCaller ? key : credential;
        const named = namedKey(`${'k'.repeat(at)}${secret}${'z'.repeat(130)}`);
        const message = withoutPartialSecrets(
          boundedMessage(redactedError(`The key \`${named}\` is repeated.`, rules)),
          rules.secrets,
        );
        for (let chars = 8; chars <= secret.length; chars += 1)
          expect(message).not.toContain(secret.slice(0, chars));
        expect(message).toContain('is repeated.');
      }),
      { numRuns: 500 },
    );
  });
});

describe('an upstream error text that is cut off before it is sanitised', () => {
  const secret = 'sk-configured-0123456789';
  const rules = redactionRules([], [secret]);
  const fit = (words: string): string =>
    boundedMessage(sanitisedStart(words, (text) => redactedError(text, rules)));

  it('shows no part of a secret and no userinfo, wherever these occur', () => {
    const hidden = `https://host/?${'q'.repeat(maxUpstreamErrorBytes - 300)} `;
    for (const [planted, shown] of [
      [secret, secret.slice(0, 8)],
      ['https://user:hunter2hunter2@host/p', 'hunter2h'],
    ] as const)
      for (let before = 200; before < 300; before += 1) {
        const words = `${hidden}${'b'.repeat(before)}${planted}${'c'.repeat(200)}`;
        expect(fit(words)).not.toContain(shown);
      }
  });

  it('keeps its beginning, and all of it if it is short', () => {
    expect(fit('x'.repeat(maxUpstreamErrorBytes * 2))).toBe(`${'x'.repeat(maxErrorMessageChars - 1)}…`);
    expect(fit('y'.repeat(1000))).toBe('y'.repeat(1000));
  });
});
