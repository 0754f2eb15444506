import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions, embeddings, messages, responses } from '../../../application/families.ts';

const said = '"messages":[{"role":"user","content":"x"}]';
const families = [
  { read: chatCompletions.read, said },
  { read: messages.read, said: `"max_tokens":1,${said}` },
  { read: responses((text) => text).read, said: '"input":"x"' },
  { read: embeddings.read, said: '"input":"x"' },
];

/** What each family makes of a body with these members. */
const readWith = (members: string) =>
  families.map((family) => family.read(`{"model":"fast",${family.said},${members}}`));

describe('a field in another spelling', () => {
  it.each([
    ['"Model":"big"', 'Model'],
    ['"MODEL":"big"', 'MODEL'],
    ['"\\u004dodel":"big"', 'Model'],
    ['"modelſ":["big"]', 'modelſ'],
    ['"fallbacKs":["big"]', 'fallbacKs'],
    ['"Provider":{}', 'Provider'],
    ['"Stream":true', 'Stream'],
    ['"Stream_Options":{}', 'Stream_Options'],
    ['"stream_options":{"include_usage":true,"Include_Usage":false}', 'Include_Usage'],
  ])('is refused, since some upstreams read it in place of the field: %s', (members, param) => {
    for (const request of readWith(members))
      expect(request).toEqual(E.left(expect.objectContaining({ code: 'invalid_request', param })));
  });

  it.each([
    ['"Temperature":1'],
    ['"models_":1,"model_":"x"'],
    ['"metadata":{"Model":"x"}'],
    [`"${'M'.repeat(100_000)}":1`],
  ])('of a field that decides nothing is sent, and so is a key that only resembles one: %.20s', (members) => {
    for (const request of readWith(members)) expect(request).toMatchObject({ _tag: 'Right' });
  });
});
