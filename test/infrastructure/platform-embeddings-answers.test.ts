import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { WholeAnswer } from '../../application/ports/upstream.ts';
import { observeEmbeddings } from '../../domain/embeddings/embeddings-answer.ts';
import { all, call, dialect, encoded, english, one, two } from './platform-embeddings-bench.ts';

/** A predict response, formatted as the platform does. */
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

/** How many inputs each request of the call carries. */
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

describe('the embeddings response', () => {
  it('is an ordered `list` of embeddings, each with its `index`, and the requested model', () => {
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

  it('has a parsed `value` that is equal to its `text`', () => {
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

  it('keeps every digit of the floats', () => {
    const values = '0.10,-1e-7,1.0,12345678901234567890,-0.0,0.013551234267652035';
    for (const text of [
      decoded(one, 'a', [predicted([[values, '1']])]).text,
      decoded(two, 'a', [embedded(values)]).text,
      // Another list is also named `values`: the embedding is still the right one.
      decoded(one, 'a', [predicted([[values, '1']], ',"sparse":{"values":[1,2]}')]).text,
      decoded(two, 'a', [
        `{"x":{"values":[9]},"embedding":{"v":"\\"values\\":[8]","v\\u0061lues":[${values}]}}`,
      ]).text,
    ])
      expect(text).toContain(`"embedding":[${values}]`);
    const lookalike = '{"x":{"values":[9]},"embedding":{"v\\u0061lues":[0.80]}}';
    expect(decoded(two, 'a', [lookalike]).text).toContain('"embedding":[0.80]');
    const second =
      '{"predictions":[{"embeddings":{"values":[1.0]}},{"embeddings":{"v\\u0061lues":[2.0]},"x":{"values":[9]}}]}';
    expect(decoded(english, ['a', 'b'], [second]).text).toContain('"index":1,"embedding":[2.0]');
  });

  it('has one embedding for each input, in order, for any list and model', () => {
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.integer({ min: 1, max: 40 }), (model, count) => {
        const input = Array.from({ length: count }, (_, index) => `text ${index}`);
        // The embedding of a text is its number.
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

describe('the usage of the embeddings response', () => {
  it('is the sum of the token counts in the statistics of the predictions for predict models', () => {
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

  it('is the sum of the prompt token counts in the usage metadata for gemini-embedding-2', () => {
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
  ])('is absent, and never inferred, where token counts are: %s, from %s', (_, model, bodies) => {
    const { value, text } = decoded(model, ['a', 'b'], bodies);
    expect([Object.keys(value), text]).toEqual([
      ['object', 'data', 'model'],
      expect.not.stringContaining('usage'),
    ]);
    expect(observeEmbeddings(value)).toMatchObject({ usage: undefined, usageUnusable: false });
  });
});

describe('an invalid embeddings answer', () => {
  it.each<[string, string, string | RegExp]>([
    ['an error under status 200', '{"error":{"code":400,"message":"No s3cret here."}}', 'No […] here.'],
    ['an error without a message', '{"error":{}}', /reported an error/],
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
      'a vector of strings',
      predicted([
        ['1', '1'],
        ['"a"', '1'],
      ]),
      /one embedding for each/,
    ],
    [
      'a vector with a null',
      predicted([
        ['1', '1'],
        ['1,null', '1'],
      ]),
      /one embedding for each/,
    ],
    ['one fused vector', embedded('1,2'), /one embedding for each/],
    [
      'JSON that is nested too deep',
      predicted(
        [
          ['1', '1'],
          ['1', '1'],
        ],
        `,"values":[1],"x":${'['.repeat(400)}${']'.repeat(400)}`,
      ),
      /too deep/,
    ],
  ])('fails with a protocol fault: %s', (_, body, message) => {
    expect(decode(english, ['a', 'b'], [body])).toEqual(
      E.left({
        kind: 'protocol',
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      }),
    );
  });

  it('keeps the usage of the successful calls in the fault of the first failed one', () => {
    const [good, bad] = [predicted([['1', '1']]), '{"error":{"message":"m"}}'];
    expect(decode(one, ['a', 'b', 'c'], [good, bad, good])).toEqual(
      E.left({ kind: 'protocol', message: 'm', usage: { prompt_tokens: 2, total_tokens: 2 } }),
    );
    const worse = '{"error":{"message":"n"}}';
    expect(decode(one, ['a', 'b'], [bad, worse])).toEqual(E.left({ kind: 'protocol', message: 'm' }));
  });

  it('is a fault and never throws, for any text or JSON', () => {
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.oneof(fc.string(), fc.json()), (model, body) => {
        expect(E.isLeft(decode(model, 'a', [body]))).toBe(true);
      }),
    );
  });
});
