import { fieldsOf, mark } from './known-fields.ts';

/** https://platform.openai.com/docs/api-reference/embeddings/create */
export const embeddingsFields = fieldsOf({ model: 'asked', input: 'Hi' }, [
  {
    given: {},
    fields: {
      input: mark('input'),
      'input (texts)': [mark('first'), mark('second')],
      'input (tokens)': [71, 72],
      'input (lists of tokens)': [[71], [72]],
      dimensions: 256,
      'encoding_format (base64)': 'base64',
      'encoding_format (float)': 'float',
      user: mark('user'),
    },
  },
]);
