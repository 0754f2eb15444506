import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { adminCommand } from '../../interfaces/cli/admin.ts';
import { askHidden } from '../../interfaces/cli/hidden-input.ts';
import * as E from 'fp-ts/lib/Either.js';

/** A keyboard on which these keys are typed. */
function typed(keys: string): PassThrough {
  const keyboard = new PassThrough();
  keyboard.write(keys);
  return keyboard;
}

describe('a prompt without echo', () => {
  it.each([
    ['first\rsecond\r', ['first', 'second']],
    ['first\nsecond\n', ['first', 'second']],
    ['firzt\u007f\u007fst\rsecond\r', ['first', 'second']],
    ['pass \u00e9\u{1f44d}\rsecond\r', ['pass \u00e9\u{1f44d}', 'second']],
    ['first\r\u0003', undefined],
    ['\u0004', undefined],
  ])('%j', async (keys, answers) => {
    const said: string[] = [];
    const say = (text: string) => void said.push(text);
    expect(await askHidden(typed(keys), say, ['Password: ', 'Again: '])).toEqual(answers);
    expect(said.join('')).not.toMatch(/first|second|pass /);
    expect(said[0]).toBe('Password: ');
  });

  it('returns nothing if the input ends early', async () => {
    const keyboard = new PassThrough();
    keyboard.end('first');
    expect(await askHidden(keyboard, () => undefined, ['a', 'b', 'c'])).toBeUndefined();
  });
});

describe('`gateway admin create` on a terminal', () => {
  const create = (keys: string) => {
    const made: object[] = [];
    const quiet = { out: () => undefined, err: () => undefined };
    const run = adminCommand(
      {
        createAdmin: async (credentials) => {
          made.push(credentials);
          return E.right(undefined);
        },
        password: undefined,
        keyboard: typed(keys),
      },
      quiet,
    );
    return { made, run: () => run(['create', '--email', 'a@example.com']) };
  };

  it('asks for the password twice', async () => {
    const { made, run } = create('correct horse\rcorrect horse\r');
    expect(await run()).toBe(0);
    expect(made).toEqual([{ email: 'a@example.com', password: 'correct horse' }]);
  });

  it('creates nobody if the two passwords differ, or if none is given', async () => {
    for (const keys of ['correct horse\rcorrect house\r', '\u0003']) {
      const { made, run } = create(keys);
      await expect(run()).rejects.toThrow(/password/);
      expect(made).toEqual([]);
    }
  });
});
