import { describe, expect, it } from '@jest/globals';
import type { LargeAnswer } from '../../application/ports/large-bodies.ts';
import { sharedText } from '../../application/ports/shared-text.ts';
import { maxAnswerMembers, maxAnswerValues, maxEscapedKeys } from '../../domain/shared/limits.ts';
import type { ProviderConfig } from '../../infrastructure/config/provider-config.ts';
import { largeWork } from '../../infrastructure/large-bodies/work.ts';
import { aRoute } from '../support/arbitraries/routing.ts';

const config: ProviderConfig<'compat'> = {
  id: 'up',
  kind: 'compat',
  pricingProviderId: 'up',
  defaultHeaders: {},
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
  baseUrl: 'http://127.0.0.1:1/v1',
  auth: { mode: 'none' },
};

const answerOf = (embedding: string): LargeAnswer => ({
  requestLogId: 'log-1',
  scope: 'user:a',
  family: 'embeddings',
  terms: {
    route: aRoute({ upstreamModel: 'm' }),
    family: 'embeddings',
    stream: false,
    answer: { id: 'chatcmpl-1', model: 'm', createdSecs: 1 },
    betas: [],
  },
  parts: [{ text: sharedText([Buffer.from(`{"data":[{"embedding":${embedding}}]}`)]), inputs: 1 }],
  source: { redactionPaths: [], credentials: [] },
});

const read = (embedding: string) => largeWork().readAnswer({ answer: answerOf(embedding), config });
const members = (count: number, key: (index: number) => string): string =>
  `{${Array.from({ length: count }, (_, index) => `"${key(index)}":1`).join(',')}}`;

describe('a large answer (rule 35.53)', () => {
  it('is read with the numbers of 2048 embeddings of 4096 each', () => {
    expect(read(`[${'0.5,'.repeat(2048 * 4096 - 1)}0.5]`)).toHaveProperty('_tag', 'Right');
  });

  it.each([
    ['values', () => `[${'{},'.repeat(maxAnswerValues)}0]`],
    ['members', () => members(maxAnswerMembers + 1, () => '')],
    ['keys with an escape', () => members(maxEscapedKeys + 1, (index) => `\\u0061${index}`)],
  ])('is a failure that is found before it is parsed if it has too many %s', (_, embedding) => {
    expect(read(embedding())).toMatchObject({
      left: { kind: 'protocol', message: 'The upstream sent an answer with too many JSON values.' },
    });
  });
});
