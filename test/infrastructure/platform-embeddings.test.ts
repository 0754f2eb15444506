import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import {
  all,
  call,
  dialect,
  encoded,
  english,
  multilingual,
  one,
  predictModels,
  two,
} from './platform-embeddings-bench.ts';

const sent = (upstreamModel: string, body: object | string, extraBody?: JsonObject): readonly unknown[] =>
  encoded(upstreamModel, body, extraBody).map(({ body: text }) => JSON.parse(text));

const refused = (upstreamModel: string, body: object | string): GatewayError => {
  const requests = dialect.encodeMany(call(upstreamModel, body));
  if (E.isRight(requests)) throw new Error(`accepted: ${JSON.stringify(requests.right)}`);
  return requests.left;
};

const expectRefusal = (
  upstreamModel: string,
  body: object | string,
  param: string,
  words: string | RegExp,
): void => {
  const { message, ...rest } = refused(upstreamModel, body);
  expect(rest).toEqual({ code: 'invalid_request', param });
  expect(message).toMatch(words);
};

describe('embeddings calls to platform A', () => {
  it.each([
    [two, 'gemini-embedding-2:embedContent'],
    [one, 'gemini-embedding-001:predict'],
    [english, 'text-embedding-005:predict'],
    [multilingual, 'text-multilingual-embedding-002:predict'],
  ])('the model %s uses the call %s', (model, end) => {
    const [request, ...more] = encoded(model, { input: 'Hi' });
    expect(more).toEqual([]);
    expect(request?.path).toBe(`/v1/projects/p/locations/us-central1/publishers/google/models/${end}`);
    expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'x-team': 'search' });
  });

  it('a model other than the four is rejected', () => {
    expectRefusal('google/text-embedding-004', { input: 'Hi' }, 'model', /text-embedding-004/);
    expectRefusal('google/constructor', { input: 'Hi' }, 'model', /constructor/);
  });

  it('an `input` string is sent as one text', () => {
    expect(sent(one, { input: 'Grüße' })).toEqual([{ instances: [{ content: 'Grüße' }] }]);
    expect(sent(two, { input: 'Grüße' })).toEqual([
      { content: { role: 'user', parts: [{ text: 'Grüße' }] } },
    ]);
  });

  it.each([
    [two, [1, 1, 1, 1, 1, 1, 1]],
    [one, [1, 1, 1, 1, 1, 1, 1]],
    [english, [5, 2]],
    [multilingual, [5, 2]],
  ])(
    'an `input` list of strings is sent in order, with as many texts in a call as %s takes',
    (model, sizes) => {
      const input = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
      const bodies = sent(model, { input }) as {
        instances?: { content: string }[];
        content?: { parts: { text: string }[] };
      }[];
      const texts = bodies.map(({ instances, content }) =>
        (instances ?? []).map((each) => each.content).concat((content?.parts ?? []).map((each) => each.text)),
      );
      expect(texts.map((each) => each.length)).toEqual(sizes);
      expect(texts.flat()).toEqual(input);
    },
  );

  it('`extra_body` of the route overrides fields of each call', () => {
    const extra = { parameters: { autoTruncate: false }, labels: { team: 'search' } };
    expect(sent(one, { input: ['a', 'b'], dimensions: 8, auto_truncate: true }, extra)).toEqual(
      ['a', 'b'].map((content) => ({
        instances: [{ content }],
        parameters: { outputDimensionality: 8, autoTruncate: false },
        labels: { team: 'search' },
      })),
    );
  });

  it.each(all)('fields that the platform does not know, or that are null, are dropped: %s', (model) => {
    const known = { input: 'Hi' };
    const body = {
      ...known,
      user: 'u',
      store: true,
      metadata: { a: '1' },
      stream: false,
      x: 1,
      title: null,
      dimensions: null,
    };
    expect(sent(model, body)).toEqual(sent(model, known));
  });
});

describe('validation of embeddings requests, with `invalid_request` before anything is sent', () => {
  it.each<[string, unknown, string, string]>([
    ['token arrays', [1, 2, 3], 'input[0]', 'must be a string'],
    ['arrays of token arrays', [[1], [2]], 'input[0]', 'must be a string'],
    ['nested arrays', ['a', ['b']], 'input[1]', 'must be a string'],
    ['non-strings', 7, 'input', 'must be a string'],
    ['a non-string among strings', ['a', null], 'input[1]', 'must be a string'],
    ['an empty array', [], 'input', 'must not be empty'],
    ['an empty string', '', 'input', 'must not be empty'],
    ['an empty string among strings', ['a', ''], 'input[1]', 'must not be empty'],
    [
      'multimodal payloads',
      [{ type: 'image_url', image_url: { url: 'https://x' } }],
      'input[0]',
      'must be a string',
    ],
    ['a multimodal payload', { text: 'a' }, 'input', 'must be a string'],
    ['base64 payloads', 'data:image/png;base64,iVBORw0KGgo=', 'input', 'holds base64 data'],
    ['base64 payloads among strings', ['a', 'DATA:;base64,AA=='], 'input[1]', 'holds base64 data'],
    ['absent', undefined, 'input', 'must be a string'],
  ])('rejects `input`: %s', (_, input, param, words) => {
    for (const model of all) expectRefusal(model, { input }, param, `\`${param}\` ${words}`);
  });

  it('accepts a text that mentions a data URL', () => {
    expect(sent(one, { input: 'What is data:image/png;base64, for?' })).toHaveLength(1);
  });

  it('accepts 250 texts and rejects 251', () => {
    const input = Array.from({ length: 250 }, (_, index) => `text ${index}`);
    expect(encoded(english, { input })).toHaveLength(50);
    expectRefusal(english, { input: [...input, 'one more'] }, 'input', /251 texts; send at most 250/);
  });

  it.each(['image', 'images', 'video', 'audio', 'file', 'content', 'contents', 'instances', 'messages'])(
    'rejects a payload outside `input`: %s',
    (name) => {
      for (const model of all)
        expectRefusal(
          model,
          { input: 'Hi', [name]: [{ text: 'x' }] },
          name,
          new RegExp(`^\`${name}\` is not supported`),
        );
    },
  );

  it('rejects any `encoding_format` but `float`, such as `base64`, and names the fix; absent or null is accepted', () => {
    for (const model of all) {
      expectRefusal(
        model,
        { input: 'Hi', encoding_format: 'base64' },
        'encoding_format',
        'encoding_format: "float"',
      );
      expectRefusal(
        model,
        { input: 'Hi', encoding_format: 'int8' },
        'encoding_format',
        'encoding_format: "float"',
      );
      expectRefusal(
        model,
        { input: 'Hi', encoding_format: 1 },
        'encoding_format',
        'encoding_format: "float"',
      );
      for (const format of [undefined, null, 'float'])
        expect(sent(model, { input: 'Hi', encoding_format: format })).toEqual(sent(model, { input: 'Hi' }));
    }
  });
});

describe('`dimensions`', () => {
  const names = ['dimensions', 'output_dimensionality', 'outputDimensionality'];

  it.each(names)('%s is sent as `outputDimensionality`', (name) => {
    for (const model of predictModels)
      expect(sent(model, { input: 'Hi', [name]: 256 })).toEqual([
        { instances: [{ content: 'Hi' }], parameters: { outputDimensionality: 256 } },
      ]);
    expect(sent(two, { input: 'Hi', [name]: 256 })).toMatchObject([
      { embedContentConfig: { outputDimensionality: 256 } },
    ]);
  });

  it.each([
    [two, 3072],
    [one, 3072],
    [english, 768],
    [multilingual, 768],
  ])('must be an integer from 1 to the maximum of %s, %i', (model, max) => {
    for (const name of names) {
      expect(sent(model, { input: 'Hi', [name]: max })).toHaveLength(1);
      expect(sent(model, { input: 'Hi', [name]: 1 })).toHaveLength(1);
      for (const value of [0, -1, max + 1, 1.5, '256', true, [256]])
        expectRefusal(
          model,
          { input: 'Hi', [name]: value },
          name,
          `\`${name}\` must be an integer from 1 to ${max}`,
        );
    }
  });

  it('is read by its exact value: 2.56e2 is 256, and 1e400 is rejected', () => {
    expect(sent(one, '{"input":"Hi","dimensions":2.56e2}')).toMatchObject([
      { parameters: { outputDimensionality: 256 } },
    ]);
    expectRefusal(one, '{"input":"Hi","dimensions":1e400}', 'dimensions', /integer from 1/);
    expectRefusal(one, '{"input":"Hi","dimensions":9007199254740993}', 'dimensions', /integer from 1/);
  });

  it('is rejected where its aliases have different values, and accepted where they have the same', () => {
    for (const [a, b] of [names, names.slice(1), [names[0]!, names[2]!]] as string[][]) {
      expectRefusal(one, { input: 'Hi', [a!]: 256, [b!]: 128 }, b!, `\`${b}\` and \`${a}\` disagree`);
      expect(sent(one, { input: 'Hi', [a!]: 256, [b!]: 256 })).toEqual(
        sent(one, { input: 'Hi', dimensions: 256 }),
      );
    }
    expect(sent(one, '{"input":"Hi","dimensions":256,"output_dimensionality":256.0}')).toHaveLength(1);
  });
});

describe('the controls of predict models', () => {
  it.each(predictModels)('`task_type` is sent with each instance: %s', (model) => {
    const bodies = sent(model, { input: ['a', 'b'], task_type: 'RETRIEVAL_QUERY' }) as {
      instances: unknown[];
    }[];
    expect(bodies.flatMap(({ instances }) => instances)).toEqual([
      { content: 'a', task_type: 'RETRIEVAL_QUERY' },
      { content: 'b', task_type: 'RETRIEVAL_QUERY' },
    ]);
  });

  it('`input_type` is an alias of `task_type`; conflicts and invalid values are rejected', () => {
    expect(sent(one, { input: 'a', input_type: 'CLUSTERING' })).toEqual(
      sent(one, { input: 'a', task_type: 'CLUSTERING' }),
    );
    expect(sent(one, { input: 'a', input_type: 'CLUSTERING', task_type: 'CLUSTERING' })).toHaveLength(1);
    expectRefusal(
      one,
      { input: 'a', input_type: 'CLUSTERING', task_type: 'RETRIEVAL_QUERY' },
      'input_type',
      /`task_type`/,
    );
    expectRefusal(one, { input: 'a', task_type: 7 }, 'task_type', /must be a non-empty string/);
    expectRefusal(one, { input: 'a', input_type: '' }, 'input_type', /must be a non-empty string/);
  });

  it('`title` is accepted only with the task type `RETRIEVAL_DOCUMENT`', () => {
    for (const type of ['task_type', 'input_type'])
      expect(sent(english, { input: ['a', 'b'], title: 'T', [type]: 'RETRIEVAL_DOCUMENT' })).toEqual([
        {
          instances: [
            { content: 'a', task_type: 'RETRIEVAL_DOCUMENT', title: 'T' },
            { content: 'b', task_type: 'RETRIEVAL_DOCUMENT', title: 'T' },
          ],
        },
      ]);
    for (const over of [{}, { task_type: 'RETRIEVAL_QUERY' }])
      expectRefusal(one, { input: 'a', title: 'T', ...over }, 'title', /`RETRIEVAL_DOCUMENT`/);
    expectRefusal(
      one,
      { input: 'a', title: 7, task_type: 'RETRIEVAL_DOCUMENT' },
      'title',
      /non-empty string/,
    );
  });

  it('`auto_truncate` and `autoTruncate` are sent as `autoTruncate`; conflicts are rejected', () => {
    for (const name of ['auto_truncate', 'autoTruncate'])
      for (const value of [true, false])
        expect(sent(english, { input: 'a', [name]: value })).toEqual([
          { instances: [{ content: 'a' }], parameters: { autoTruncate: value } },
        ]);
    expectRefusal(
      one,
      { input: 'a', auto_truncate: true, autoTruncate: false },
      'autoTruncate',
      /`auto_truncate`/,
    );
    expectRefusal(one, { input: 'a', auto_truncate: 'yes' }, 'auto_truncate', /a boolean/);
  });

  it.each([
    ['task_type', 'RETRIEVAL_QUERY'],
    ['input_type', 'RETRIEVAL_QUERY'],
    ['title', 'T'],
    ['auto_truncate', true],
    ['autoTruncate', false],
  ])('%s is rejected for google/gemini-embedding-2', (name, value) => {
    expectRefusal(two, { input: 'a', [name]: value }, name, `\`${name}\` is not supported by \`${two}\``);
  });
});
