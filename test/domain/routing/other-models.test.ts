import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions, embeddings, responses } from '../../../application/families.ts';

const families = [
  { read: chatCompletions.read, said: '"messages":[{"role":"user","content":"x"}]' },
  { read: responses((text) => text).read, said: '"input":"x"' },
  { read: embeddings.read, said: '"input":"x"' },
];

/** What these families make of a body with these members. */
const readWith = (members: string) =>
  families.map(({ read, said }) => read(`{"model":"fast",${said},${members}}`));

describe('a request that names other models beside its own', () => {
  it.each([
    ['"models":["big"]', 'models', 'empty'],
    ['"models":"big"', 'models', 'empty'],
    ['"fallbacks":["big"]', 'fallbacks', 'empty'],
    ['"fallbacks":[{"model":"big"}]', 'fallbacks', 'empty'],
    ['"providerOptions":{"gateway":{"models":["big"]}}', 'providerOptions', 'without `gateway.models`'],
  ])('is refused by the field, since the key may not be allowed to use them: %s', (members, param, what) => {
    const message = `\`${param}\` must be ${what}: only the model in \`model\` answers.`;
    for (const request of readWith(members))
      expect(request).toEqual(E.left(expect.objectContaining({ code: 'invalid_request', param, message })));
  });

  it('is refused if it hides them in a repeated key', () => {
    for (const request of readWith('"providerOptions":{"gateway":{"models":["big"],"models":[]}}'))
      expect(request).toMatchObject({ left: { param: 'providerOptions.gateway.models' } });
  });

  it.each([
    ['"models":[]'],
    ['"models":null,"fallbacks":null,"providerOptions":null'],
    ['"providerOptions":{"gateway":{"order":["a"],"models":[]},"other":{"models":["x"]}}'],
  ])('is served if it names none: %s', (members) => {
    for (const { _tag } of readWith(members)) expect(_tag).toBe('Right');
  });
});
