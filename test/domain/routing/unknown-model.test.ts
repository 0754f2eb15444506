import { describe, expect, it } from '@jest/globals';
import { unknownModel } from '../../../domain/routing/unknown-model.ts';

describe('an unknown model', () => {
  it('is named, with the three nearest models that the key may use', () => {
    expect(unknownModel('claude-sonet', ['fast', 'claude-sonnet', 'claude-haiku', 'claude-opus'])).toEqual({
      code: 'model_not_found',
      message:
        'There is no model `claude-sonet`. The nearest that this key may use: `claude-sonnet`, `claude-opus`, `claude-haiku`.',
      param: 'model',
    });
  });

  it('is named without suggestions if the key may use no model', () => {
    expect(unknownModel('x', []).message).toBe('There is no model `x`. There is none that this key may use.');
  });

  it('is truncated in the message if its name is long, as are the suggestions', () => {
    const { message } = unknownModel('x'.repeat(100_000), ['y'.repeat(500)]);
    expect(message).toContain(`\`${'x'.repeat(128)}…\``);
    expect(message).toContain(`\`${'y'.repeat(128)}…\``);
    expect(message.length).toBeLessThan(400);
  });
});
