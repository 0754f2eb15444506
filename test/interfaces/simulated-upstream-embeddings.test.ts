import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { errorOf, hello, type Json, jsonOf, simulatedFamiliesScene } from './simulated-families-scene.ts';

const { send, whole } = simulatedFamiliesScene();

describe('embeddings', () => {
  interface Embeddings extends Json {
    readonly data: readonly { readonly index: number; readonly embedding: readonly number[] | string }[];
    readonly usage?: Json;
  }
  const embed = async (more: Json, query = ''): Promise<Embeddings> =>
    jsonOf(await whole('embeddings', query, more)) as Embeddings;
  const floats = (base64: unknown): readonly number[] => {
    const bytes = Buffer.from(base64 as string, 'base64');
    return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
  };

  it('are a list of unit vectors with the token count of the input', async () => {
    const received = await send('embeddings', {
      model: 'text-embedding-3-small',
      input: ['Hello.', 'Goodbye.'],
    });
    expect(received.status).toBe(200);
    const answer = jsonOf(received) as Embeddings;
    expect(answer).toEqual({
      object: 'list',
      data: [0, 1].map((index) => ({ object: 'embedding', index, embedding: expect.any(Array) })),
      model: 'text-embedding-3-small',
      usage: { prompt_tokens: 4, total_tokens: 4 },
    });
    for (const { embedding } of answer.data) {
      expect(embedding).toHaveLength(8);
      expect(Math.hypot(...(embedding as readonly number[]))).toBeCloseTo(1, 6);
    }
  });

  it('are the same for the same text, alone or in a list, and in either encoding', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 300 }),
        async (input, dimensions) => {
          const [alone] = (await embed({ input, dimensions })).data;
          const list = await embed({ input: ['other', input], dimensions, encoding_format: 'base64' });
          expect(alone?.embedding).toHaveLength(dimensions);
          expect(floats(list.data[1]?.embedding)).toEqual(alone?.embedding);
        },
      ),
      { numRuns: 40 },
    ));

  it('differ for different texts', async () => {
    const { data } = await embed({ input: ['a', 'b', 'A', 'a '] });
    expect(new Set(data.map(({ embedding }) => String(embedding))).size).toBe(4);
  });

  it.each([
    ['tokens', [1, 2, 3], 1, 3],
    ['lists of tokens', [[1, 2], [3]], 2, 3],
    ['a text', hello, 1, 9],
  ])('accept %s', async (_, input, vectors, tokens) => {
    const { data, usage } = await embed({ input });
    expect(data.map(({ index }) => index)).toEqual([...Array(vectors).keys()]);
    expect(usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
  });

  it.each([
    ['no model', { model: undefined }, 'model'],
    ['no input', { input: undefined }, 'input'],
    ['a null input', { input: null }, 'input'],
    ['an empty text', { input: '' }, 'input'],
    ['an empty list', { input: [] }, 'input'],
    ['an empty text in a list', { input: ['a', ''] }, 'input'],
    ['empty tokens in a list', { input: [[1], []] }, 'input'],
    ['texts among tokens', { input: ['a', [1]] }, 'input'],
    ['tokens that are no whole numbers', { input: [1.5] }, 'input'],
    ['too many inputs', { input: Array(2049).fill('a') }, 'input'],
    ['too many numbers in all', { input: Array(2048).fill('a'), dimensions: 4096 }, 'input'],
    ['no dimensions', { dimensions: 0 }, 'dimensions'],
    ['too many dimensions', { dimensions: 4097 }, 'dimensions'],
    ['dimensions that are no whole number', { dimensions: 1.5 }, 'dimensions'],
    ['another encoding', { encoding_format: 'hex' }, 'encoding_format'],
  ])('are rejected for %s', async (_, change, param) => {
    const received = await send('embeddings', { model: 'm', input: 'a', ...change });
    expect(received.status).toBe(400);
    expect(errorOf(received)).toMatchObject({ type: 'invalid_request_error', param });
  });

  it('treat a null parameter as absent', async () => {
    const { data } = await embed({ dimensions: null, encoding_format: null });
    expect(data[0]?.embedding).toHaveLength(8);
  });

  it('have the usage that directives set, or none', async () => {
    expect(await embed({}, 'usage=none')).not.toHaveProperty('usage');
    expect((await embed({}, 'prompt-tokens=7')).usage).toEqual({ prompt_tokens: 7, total_tokens: 7 });
    expect((await whole('embeddings', 'prompt-tokens=1e300&total-tokens=-1')).text).toContain(
      '"usage":{"prompt_tokens":1e300,"total_tokens":-1}',
    );
  });

  it('support status, garbage, break, eof and html', async () => {
    expect((await whole('embeddings', 'status=429')).status).toBe(429);
    const { text } = await whole('embeddings', 'garbage');
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect((await whole('embeddings', 'break=1')).ended).toBe('broken');
    expect((await whole('embeddings', 'break')).ended).toBe('no head');
    expect((await whole('embeddings', 'html')).headers['content-type']).toBe('text/html; charset=utf-8');
  });
});
