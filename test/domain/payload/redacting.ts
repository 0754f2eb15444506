import { expect } from '@jest/globals';
import { redacted as redactedWritten, redactionRules } from '../../../domain/payload/redact.ts';
import type { Json } from '../../../domain/shared/json.ts';
import { canaryLetter } from '../../support/arbitraries/payloads.ts';
import { onJson } from '../../support/written.ts';

export const redacted = onJson(redactedWritten);
export const builtIn = redactionRules([], []);
export const clean = (body: Json, rules = builtIn): Json | undefined => redacted({ body }, rules)['body'];
export const marker = '[REDACTED]';

/** The forms in which printed JSON may contain the letter of a canary. */
const spellings = [canaryLetter, '\\u0416', encodeURIComponent(canaryLetter)];

export function expectNoCanary(value: Json | undefined): void {
  const printed = JSON.stringify(value).toLowerCase();
  for (const spelling of spellings) expect(printed).not.toContain(spelling.toLowerCase());
}
