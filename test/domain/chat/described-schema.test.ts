import { describe, expect, it } from '@jest/globals';
import type { Json } from '../../../domain/shared/json.ts';
import { describedSchema } from '../../../domain/chat/described-schema.ts';

describe('the description of a format', () => {
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
  ])('%j and %j of its schema are %j: the model is shown both', (format, own, told) => {
    const schema = { type: 'object', ...(own === undefined ? {} : { description: own }) };
    expect(describedSchema(schema, format)).toEqual({ type: 'object', description: told });
  });

  it('that says nothing leaves the schema as it is', () => {
    const schema = { type: 'object' };
    expect(describedSchema(schema, undefined)).toBe(schema);
  });
});
