import { describe, expect, it } from '@jest/globals';
import { fuzz, tried } from './fuzz.ts';
import { demand, type Target } from './target.ts';
import { allTargets } from './targets.ts';

/** Makes the mutants the same in every run; `npm run fuzz` uses other seeds and more mutants. */
const seed = 20_261_123;
const mutants = 150;

const targets = allTargets();

describe('mutated inputs of the gateway’s readers', () => {
  it.each(targets.map((target) => [target.name, target] as const))('break no law: %s', async (_, target) => {
    const { fault } = await fuzz(target, { runs: target.samples.length + mutants, seed });
    expect(fault === undefined ? undefined : `${fault.what}: ${fault.input.toString('base64')}`).toBe(
      undefined,
    );
  });
});

/** A target with this check, and a sample that does not trigger its fault. */
const faulty = (check: Target['check'], words: readonly string[] = ['xyz']): Target => ({
  name: 'faulty',
  samples: [Buffer.from('{"a":[1,2,3],"stop":"end","text":"some more words"}')],
  words,
  check,
});

const faultOf = async (target: Target) => (await fuzz(target, { runs: 20_000, seed: 1 })).fault;

describe('a fault found by mutation', () => {
  it('is reported with its input reduced to the bytes that cause it', async () => {
    const target = faulty((input) => {
      demand(!input.includes('xyz'), 'there is an xyz');
      return '';
    });
    expect(await faultOf(target)).toEqual({ what: 'there is an xyz', input: Buffer.from('xyz') });
  });

  it('can be an exception of the check, which is reported by its name', async () => {
    const target = faulty((input) => {
      JSON.parse(input.toString());
      return '';
    });
    expect((await faultOf(target))?.what).toMatch(/^it throws SyntaxError/);
  });

  it('can be a step above the CPU time limit, which is reported in milliseconds', async () => {
    const spend = (microseconds: number): void => {
      const from = process.threadCpuUsage();
      let spent = 0;
      while (spent < microseconds) {
        const { user, system } = process.threadCpuUsage(from);
        spent = user + system;
      }
    };
    const target = faulty((input, probe) => {
      probe.step(() => spend(input.length > 100_000 ? 300_000 : 0));
      return '';
    });
    expect((await faultOf(target))?.what).toMatch(/^a step takes \d+ ms$/);
  });

  it('is found even if it needs six words, since inputs with new behaviour are mutated further', async () => {
    const words = ['x1', 'x2', 'x3', 'x4', 'x5', 'x6'];
    const target = faulty((input) => {
      const there = words.filter((word) => input.includes(word));
      demand(there.length < words.length, 'all of them are there');
      return there.join(' ');
    }, words);
    expect((await faultOf(target))?.input).toHaveLength(words.join('').length);
  });

  it('is the same for the same seed, and is reproduced by its input alone', async () => {
    const target = faulty((input, { random }) => {
      demand(input.length % 7 !== 3 || random.below(3) > 0, 'an unlucky length');
      return '';
    });
    const fault = await faultOf(target);
    expect(await faultOf(target)).toEqual(fault);
    expect((await tried(target, fault!.input)).broken).toBe('an unlucky length');
  });
});
