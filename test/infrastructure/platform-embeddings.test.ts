import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { UpstreamCall, WholeAnswer } from '../../application/ports/upstream.ts';
import { observeEmbeddings } from '../../domain/embeddings/embeddings-answer.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { textEmbeddings } from '../../infrastructure/providers/cloud-a/embeddings.ts';
import type { OutboundRequest } from '../../infrastructure/providers/provider.ts';
import { aRoute } from '../support/arbitraries/routing.ts';

const platform = { basePath: '/v1/projects/p/locations/us-central1', defaultHeaders: { 'X-Team': 'search' } };
const dialect = textEmbeddings(platform, { sanitise: (message) => message.replaceAll('s3cret', '[…]') });

const two = 'google/gemini-embedding-2';
const one = 'google/gemini-embedding-001';
const english = 'google/text-embedding-005';
const multilingual = 'google/text-multilingual-embedding-002';
const predictModels = [one, english, multilingual];
const all = [two, ...predictModels];

const call = (upstreamModel: string, body: object | string, extraBody: JsonObject = {}): UpstreamCall => ({
  route: { ...aRoute(), upstreamModel, extraBody },
  family: 'embeddings',
  stream: false,
  body: typeof body === 'string' ? body : JSON.stringify({ model: upstreamModel, ...body }),
  answer: { id: 'embd-1', model: 'my-embeddings', createdSecs: 1 },
  betas: [],
});

const encoded = (
  upstreamModel: string,
  body: object | string,
  extraBody?: JsonObject,
): readonly OutboundRequest[] => {
  const requests = dialect.encodeMany(call(upstreamModel, body, extraBody));
  if (E.isLeft(requests)) throw new Error(JSON.stringify(requests.left));
  return requests.right;
};

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

describe('calls', () => {
  it.each([
    [two, 'gemini-embedding-2:embedContent'],
    [one, 'gemini-embedding-001:predict'],
    [english, 'text-embedding-005:predict'],
    [multilingual, 'text-multilingual-embedding-002:predict'],
  ])('%s uses %s', (model, end) => {
    const [request, ...more] = encoded(model, { input: 'Hi' });
    expect(more).toEqual([]);
    expect(request?.path).toBe(`/v1/projects/p/locations/us-central1/publishers/google/models/${end}`);
    expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'x-team': 'search' });
  });

  it('a model that is none of the four is refused', () => {
    expectRefusal('google/text-embedding-004', { input: 'Hi' }, 'model', /text-embedding-004/);
    expectRefusal('google/constructor', { input: 'Hi' }, 'model', /constructor/);
  });

  it('`input` string: one embedding', () => {
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
    '`input` list of strings: independent embeddings, as many texts in a call as %s takes',
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

  it('extra_body is the final override, of each call', () => {
    const extra = { parameters: { autoTruncate: false }, labels: { team: 'search' } };
    expect(sent(one, { input: ['a', 'b'], dimensions: 8, auto_truncate: true }, extra)).toEqual(
      ['a', 'b'].map((content) => ({
        instances: [{ content }],
        parameters: { outputDimensionality: 8, autoTruncate: false },
        labels: { team: 'search' },
      })),
    );
  });

  it.each(all)('controls that the platform does not know are dropped: %s', (model) => {
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

describe('rejected locally with invalid_request, before anything is sent', () => {
  it.each<[string, unknown, RegExp]>([
    ['token arrays', [1, 2, 3], /^`input\[0\]` must be a string/],
    ['arrays of token arrays', [[1], [2]], /^`input\[0\]` must be a string/],
    ['nested arrays', ['a', ['b']], /^`input\[1\]` must be a string/],
    ['non-strings', 7, /^`input` must be a string/],
    ['a non-string among strings', ['a', null], /^`input\[1\]` must be a string/],
    ['an empty array', [], /^`input` must not be empty/],
    ['an empty string', '', /^`input` must not be empty/],
    ['an empty string among strings', ['a', ''], /^`input\[1\]` must not be empty/],
    [
      'multimodal payloads',
      [{ type: 'image_url', image_url: { url: 'https://x' } }],
      /^`input\[0\]` must be a string/,
    ],
    ['a multimodal payload', { text: 'a' }, /^`input` must be a string/],
    ['base64 payloads', 'data:image/png;base64,iVBORw0KGgo=', /^`input` holds base64 data/],
    ['base64 payloads among strings', ['a', 'DATA:;base64,AA=='], /^`input\[1\]` holds base64 data/],
    ['no input', undefined, /^`input` must be a string/],
  ])('%s', (_, input, words) => {
    for (const model of all) expectRefusal(model, { input }, 'input', words);
  });

  it('a text that speaks of data URLs is a text', () => {
    expect(sent(one, { input: 'What is data:image/png;base64 for?' })).toHaveLength(1);
  });

  it('more texts than one request can have', () => {
    const input = Array.from({ length: 250 }, (_, index) => `text ${index}`);
    expect(encoded(english, { input })).toHaveLength(50);
    expectRefusal(english, { input: [...input, 'one more'] }, 'input', /251 texts; send at most 250/);
  });

  it.each(['image', 'images', 'video', 'audio', 'file', 'content', 'contents', 'instances', 'messages'])(
    'a payload beside `input`: %s',
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

  it('`encoding_format: base64`, naming the fix; omitted, null or `float` is accepted', () => {
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

  it.each(names)('%s is mapped to output dimensionality', (name) => {
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
  ])('must be positive and within the maximum of %s, %i', (model, max) => {
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

  it('numbers are read as they are meant', () => {
    expect(sent(one, '{"input":"Hi","dimensions":2.56e2}')).toMatchObject([
      { parameters: { outputDimensionality: 256 } },
    ]);
    expectRefusal(one, '{"input":"Hi","dimensions":1e400}', 'dimensions', /integer from 1/);
    expectRefusal(one, '{"input":"Hi","dimensions":9007199254740993}', 'dimensions', /integer from 1/);
  });

  it('conflicts between its aliases are rejected; the same value twice is none', () => {
    for (const [a, b] of [names, names.slice(1), [names[0]!, names[2]!]] as string[][]) {
      expectRefusal(
        one,
        { input: 'Hi', [a!]: 256, [b!]: 128 },
        b!,
        `\`${b}\` and \`${a}\` say different things`,
      );
      expect(sent(one, { input: 'Hi', [a!]: 256, [b!]: 256 })).toEqual(
        sent(one, { input: 'Hi', dimensions: 256 }),
      );
    }
    expect(sent(one, '{"input":"Hi","dimensions":256,"output_dimensionality":256.0}')).toHaveLength(1);
  });
});

describe('controls of predict models', () => {
  it.each(predictModels)('task_type is per instance: %s', (model) => {
    const bodies = sent(model, { input: ['a', 'b'], task_type: 'RETRIEVAL_QUERY' }) as {
      instances: unknown[];
    }[];
    expect(bodies.flatMap(({ instances }) => instances)).toEqual([
      { content: 'a', task_type: 'RETRIEVAL_QUERY' },
      { content: 'b', task_type: 'RETRIEVAL_QUERY' },
    ]);
  });

  it('input_type is an alias of task_type; conflicts are rejected', () => {
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

  it('title is only for retrieval-document embeddings', () => {
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

  it('auto_truncate and autoTruncate; conflicts are rejected', () => {
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

/** An answer as the platform prints it. */
const predicted = (vectors: readonly (readonly [values: string, tokens?: string])[], more = ''): string =>
  `{\n  "predictions": [${vectors
    .map(
      ([values, tokens]) => `
    {
      "embeddings": {
        "statistics": {${tokens === undefined ? '' : ` "token_count": ${tokens},`} "truncated": false },
        "values": [
          ${values.replaceAll(',', ',\n          ')}
        ]
      }
    }`,
    )
    .join(',')}
  ],
  "metadata": { "billableCharacterCount": 11 }${more}\n}\n`;

const embedded = (values: string, usage?: string): string =>
  `{"embedding":{"values":[${values}]}${usage === undefined ? '' : `,"usageMetadata":${usage}`},"truncated":false}`;

/** As many inputs as each request of the call carried. */
function inputsOf(model: string, input: unknown): readonly number[] {
  const requests = dialect.encodeMany(call(model, { input }));
  return E.isRight(requests) ? requests.right.map(({ inputs }) => inputs) : [];
}

const decode = (model: string, input: unknown, bodies: readonly string[]): E.Either<unknown, WholeAnswer> =>
  dialect.decodeMany(
    bodies.map((body, index) => ({ body: Buffer.from(body), inputs: inputsOf(model, input)[index] ?? 0 })),
    call(model, { input }),
  );

const decoded = (model: string, input: unknown, bodies: readonly string[]): WholeAnswer => {
  const answer = decode(model, input, bodies);
  if (E.isLeft(answer)) throw new Error(JSON.stringify(answer.left));
  return answer.right;
};

describe('the response', () => {
  it('is an ordered list with the requested model', () => {
    expect(
      decoded(
        english,
        ['a', 'b'],
        [
          predicted([
            ['0.5,1', '3'],
            ['0.25', '4'],
          ]),
        ],
      ).text,
    ).toBe(
      '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,1]},' +
        '{"object":"embedding","index":1,"embedding":[0.25]}],' +
        '"model":"my-embeddings","usage":{"prompt_tokens":7,"total_tokens":7}}',
    );
  });

  it('its value says the same, for reading', () => {
    for (const answer of [
      decoded(
        english,
        ['a', 'b'],
        [
          predicted([
            ['0.5,1', '3'],
            ['0.25', '4'],
          ]),
        ],
      ),
      decoded(two, ['a'], [embedded('1e-1')]),
    ])
      expect(answer.value).toEqual(JSON.parse(answer.text as string));
  });

  it('floats keep every digit', () => {
    const values = '0.10,-1e-7,1.0,12345678901234567890,-0.0,0.013551234267652035';
    for (const text of [
      decoded(one, 'a', [predicted([[values, '1']])]).text,
      decoded(two, 'a', [embedded(values)]).text,
      // Another list of that name: nothing is cut out of the wrong place.
      decoded(one, 'a', [predicted([[values, '1']], ',"sparse":{"values":[1,2]}')]).text,
      decoded(two, 'a', [
        `{"x":{"values":[9]},"embedding":{"v":"\\"values\\":[8]","v\\u0061lues":[${values}]}}`,
      ]).text,
    ])
      expect(text).toContain(`"embedding":[${values}]`);
    const lookalike = '{"x":{"values":[9]},"embedding":{"v\\u0061lues":[0.80]}}';
    expect(decoded(two, 'a', [lookalike]).text).toContain('"embedding":[0.80]');
  });

  it('N in is N out, order kept, for any list and model', () => {
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.integer({ min: 1, max: 40 }), (model, count) => {
        const input = Array.from({ length: count }, (_, index) => `text ${index}`);
        // A platform that embeds a text as its number.
        const bodies = encoded(model, { input }).map(({ body }) => {
          const numbers = [...body.matchAll(/text (\d+)/g)].map(([, number]) => number!);
          return model === two
            ? embedded(`${numbers[0]}.0`, '{"promptTokenCount":2}')
            : predicted(numbers.map((number) => [`${number}.0`, '2'] as const));
        });
        const answer = JSON.parse(decoded(model, input, bodies).text as string) as {
          data: unknown;
          usage: unknown;
        };
        expect(answer.data).toEqual(
          input.map((_, index) => ({ object: 'embedding', index, embedding: [index] })),
        );
        expect(answer.usage).toEqual({ prompt_tokens: 2 * count, total_tokens: 2 * count });
      }),
      { numRuns: 60 },
    );
  });
});

describe('usage only when the provider returns real token counts', () => {
  it('predict models: the token counts of the predictions’ statistics, summed', () => {
    const bodies = [
      predicted([
        ['1', '3'],
        ['1', '4'],
        ['1', '0'],
        ['1', '1'],
        ['1', '2'],
      ]),
      predicted([['1', '5.0']]),
    ];
    const { value } = decoded(english, ['a', 'b', 'c', 'd', 'e', 'f'], bodies);
    expect(observeEmbeddings(value).usage).toEqual({
      promptTokens: 15,
      completionTokens: 0,
      totalTokens: 15,
    });
  });

  it('gemini-embedding-2: the prompt token counts of the usage metadata, summed', () => {
    const usage =
      '{"promptTokenCount":4,"totalTokenCount":4,"promptTokensDetails":[{"modality":"TEXT","tokenCount":4}]}';
    const { value } = decoded(two, ['a', 'b'], [embedded('1', usage), embedded('1', usage)]);
    expect(observeEmbeddings(value).usage).toEqual({ promptTokens: 8, completionTokens: 0, totalTokens: 8 });
  });

  it.each<[string, string, readonly string[]]>([
    ['none', english, [predicted([['1'], ['1']])]],
    ['some', english, [predicted([['1', '3'], ['1']])]],
    [
      'negative',
      english,
      [
        predicted([
          ['1', '3'],
          ['1', '-1'],
        ]),
      ],
    ],
    [
      'a fraction',
      english,
      [
        predicted([
          ['1', '3'],
          ['1', '1.5'],
        ]),
      ],
    ],
    [
      'text',
      english,
      [
        predicted([
          ['1', '3'],
          ['1', '"4"'],
        ]),
      ],
    ],
    [
      'too many',
      english,
      [
        predicted([
          ['1', '9007199254740991'],
          ['1', '1'],
        ]),
      ],
    ],
    ['none', two, [embedded('1'), embedded('1')]],
    ['some', two, [embedded('1', '{"promptTokenCount":4}'), embedded('1', '{}')]],
    ['characters only', two, [embedded('1', '{"billableCharacterCount":4}'), embedded('1', 'null')]],
  ])('%s of %s: no usage, and never one inferred', (_, model, bodies) => {
    const { value, text } = decoded(model, ['a', 'b'], bodies);
    expect([Object.keys(value), text]).toEqual([
      ['object', 'data', 'model'],
      expect.not.stringContaining('usage'),
    ]);
    expect(observeEmbeddings(value)).toMatchObject({ usage: undefined, usageUnusable: false });
  });
});

describe('an answer that is none', () => {
  it.each<[string, string, string | RegExp]>([
    ['an error under status 200', '{"error":{"code":400,"message":"No s3cret here."}}', 'No […] here.'],
    ['an error without words', '{"error":{}}', /reported an error/],
    ['no JSON', '<html>', /not a JSON object/],
    ['fewer embeddings than texts', predicted([['1', '1']]), /one embedding for each of 2 texts/],
    [
      'more',
      predicted([
        ['1', '1'],
        ['1', '1'],
        ['1', '1'],
      ]),
      /one embedding for each of 2 texts/,
    ],
    [
      'an empty vector',
      predicted([
        ['1', '1'],
        ['', '1'],
      ]),
      /one embedding for each/,
    ],
    [
      'a vector that is none',
      predicted([
        ['1', '1'],
        ['"a"', '1'],
      ]),
      /one embedding for each/,
    ],
    ['one fused vector', embedded('1,2'), /one embedding for each/],
    [
      'too deep',
      predicted(
        [
          ['1', '1'],
          ['1', '1'],
        ],
        `,"values":[1],"x":${'['.repeat(400)}${']'.repeat(400)}`,
      ),
      /too deep/,
    ],
  ])('%s is a fault', (_, body, message) => {
    expect(decode(english, ['a', 'b'], [body])).toEqual(
      E.left({
        kind: 'protocol',
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      }),
    );
  });

  it('whatever bytes come, it never throws', () => {
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.oneof(fc.string(), fc.json()), (model, body) => {
        expect(E.isLeft(decode(model, 'a', [body]))).toBe(true);
      }),
    );
  });
});
