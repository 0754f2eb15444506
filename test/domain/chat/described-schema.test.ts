import { describe, expect, it } from '@jest/globals';
import type { Json } from '../../../domain/shared/json.ts';
import { describedSchema } from '../../../domain/chat/described-schema.ts';

describe('the description of a response format', () => {
  it.each<[Json | undefined, Json | undefined, Json | undefined]>([
    ['A bill.', undefined, 'A bill.'],
    ['A bill.', null, 'A bill.'],
    ['A bill.', '', 'A bill.'],
    ['A bill.', 'What is owed.', 'A bill.\n\nWhat is owed.'],
    ['A bill.', 'A bill.', 'A bill.'],
    [undefined, 'What is owed.', 'What is owed.'],
    [null, 'What is owed.', 'What is owed.'],
    ['', 'What is owed.', 'What is owed.'],
    ['A bill.', 7, 7],
  ])('%j and %j of its schema are combined to %j, so that the model gets both', (format, own, told) => {
    const schema = { type: 'object', ...(own === undefined ? {} : { description: own }) };
    expect(describedSchema(schema, format)).toEqual({ type: 'object', description: told });
  });

  it('if absent, leaves the schema unchanged', () => {
    const schema = { type: 'object' };
    expect(describedSchema(schema, undefined)).toBe(schema);
  });
});
