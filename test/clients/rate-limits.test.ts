import { describe, expect, it } from '@jest/globals';
import Anthropic1 from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import OpenAI, { RateLimitError } from 'openai';
import { keyOf, limitsScene } from '../e2e/limits-scene.ts';
import { undisturbed } from '../support/undisturbed.ts';

const { gateways, secondsBeforeEnd, query } = limitsScene();
const messages = [{ role: 'user' as const, content: 'Hello' }];

const openai = (maxRetries: number) =>
  new OpenAI({ baseURL: `${gateways[0]!.url}/v1`, apiKey: keyOf('openai'), maxRetries });

const rowsOf = async (code: string | null): Promise<number> =>
  (await query('select from request_logs where error_code is not distinct from $1', [code])).length;

describe('the openai client under a rate limit', () => {
  it('receives the remaining limits with answers and streams, and throws its rate limit error when none remain', async () => {
    await secondsBeforeEnd(50);
    const whole = await openai(0).chat.completions.create({ model: 'fast', messages }).withResponse();
    expect(whole.response.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    const stream = await openai(0)
      .chat.completions.create({ model: 'fast', messages, stream: true })
      .withResponse();
    expect(stream.response.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(stream.response.headers.get('x-ratelimit-remaining-tokens')).toBe('99970');
    for await (const _ of stream.data) continue;
    const refused: unknown = await openai(0)
      .chat.completions.create({ model: 'fast', messages })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RateLimitError);
    expect(refused).toMatchObject({ status: 429, code: 'rate_limited', type: 'rate_limit_error' });
  });

  it('retries a refused request in the next minute by itself, and succeeds', async () => {
    // The third request may fall into the next minute if the machine pauses.
    await undisturbed(1000, async () => {
      await secondsBeforeEnd(5);
      const before = await rowsOf('rate_limited');
      const served = await Promise.all(
        [1, 2, 3].map(() => openai(2).chat.completions.create({ model: 'fast', messages })),
      );
      expect(served.map(({ object }) => object)).toEqual(Array(3).fill('chat.completion'));
      expect(await rowsOf('rate_limited')).toBe(before + 1);
    });
  });
});

describe.each([
  ['1.x', Anthropic1],
  ['0.x', Anthropic0 as unknown as typeof Anthropic1],
])('the Anthropic client %s under a rate limit', (_line, Sdk) => {
  const client = (maxRetries: number) =>
    new Sdk({ baseURL: gateways[1]!.url, apiKey: keyOf('anthropic'), maxRetries });
  const ask = (maxRetries: number) =>
    client(maxRetries).messages.create({ model: 'fast', max_tokens: 100, messages });

  it('receives the remaining limits with answers, and throws its rate limit error when none remain', async () => {
    await secondsBeforeEnd(50);
    const { response } = await ask(0).withResponse();
    expect(response.headers.get('anthropic-ratelimit-requests-limit')).toBe('2');
    expect(response.headers.get('anthropic-ratelimit-requests-remaining')).toBe('1');
    expect(response.headers.get('anthropic-ratelimit-tokens-remaining')).toBe('99970');
    const reset = response.headers.get('anthropic-ratelimit-requests-reset') ?? '';
    expect(Number.isNaN(Date.parse(reset))).toBe(false);
    await ask(0);
    const refused: unknown = await ask(0).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Sdk.RateLimitError);
    expect(refused).toMatchObject({ status: 429 });
  });

  it('retries a refused request in the next minute by itself, and succeeds', async () => {
    await undisturbed(1000, async () => {
      await secondsBeforeEnd(5);
      const before = await rowsOf('rate_limited');
      const served = await Promise.all([1, 2, 3].map(() => ask(2)));
      expect(served.map(({ type }) => type)).toEqual(['message', 'message', 'message']);
      expect(await rowsOf('rate_limited')).toBe(before + 1);
    });
  });
});
