import { describe, expect, it } from '@jest/globals';
import { configOf, problemsOf } from './config-reading.ts';

describe('the YAML parser', () => {
  it.each<[string, string, number, RegExp]>([
    ['a duplicate key', 'server:\n  workers: 1\n  workers: 2\n', 3, /the key `workers` is there already/],
    ['a tab', 'server:\n\tworkers: 1\n', 2, /tab/],
    ['an open quote', 'server:\n  bind: "127\n', 3, /closing quote/],
    ['a reserved character', 'a: 1\nb: @x\n', 2, /put the value in quotes/],
    ['two documents', 'server: {}\n---\nserver: {}\n', 2, /more than one YAML document/],
    ['a tag', 'server: !thing {}\n', 1, /YAML tag/],
    ['a binary', 'server: !!binary aGk=\n', 1, /YAML tag/],
    ['an unknown anchor', 'teams:\n  - *team\n', 2, /anchor that is not defined/],
    ['an anchor that contains itself', 'teams: &t [*t]\n', 1, /too much|nested/],
    ['a key that is not a text', '? [1]\n: 2\n', 1, /cannot be a key/],
    ['__proto__', 'server:\n  __proto__: {}\n', 2, /cannot be a key/],
    ['an infinite number', 'server: {otel_trace_sample_ratio: .inf}\n', 1, /finite/],
    ['deep nesting', `models: ${'['.repeat(70)}${']'.repeat(70)}\n`, 1, /nested more than 64 levels/],
    ['very deep nesting', `models: ${'['.repeat(100_000)}\n`, 1, /nested too deep/],
    ['very deep nesting on one line', `${'models: '.repeat(5000)}"y"}\n`, 1, /nested too deep/],
  ])('rejects %s and names its line', (_, text, line, message) => {
    const problems = problemsOf(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems[0]).toMatchObject({ line, message: expect.stringMatching(message) });
  });

  it('rejects anchors that expand into too much', () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const inner = level === 0 ? Array(9).fill('x') : Array(9).fill(`*a${level - 1}`);
      return `l${level}: &a${level} [${inner.join(', ')}]`;
    });
    const problems = problemsOf(levels.join('\n'));
    expect(problems[0]!.message).toMatch(/anchors expand into too much/);
    const wide = `a: &a [${Array(20_000).fill('x').join(',')}]\nb: [${Array(100).fill('*a').join(',')}]`;
    expect(problemsOf(wide)[0]).toMatchObject({ line: 2, message: expect.stringMatching(/too much/) });
  });

  it('expands other anchors, and reports problems at the lines inside them', () => {
    const text = (connect: string) =>
      [
        'providers:',
        `  - {id: a, type: compat, base_url: http://h, timeouts: &t {connect_ms: ${connect}}}`,
        '  - {id: b, type: compat, base_url: http://h, timeouts: *t}',
      ].join('\n');
    expect(configOf(text('7')).providers.map(({ timeouts }) => timeouts.connectMs)).toEqual([7, 7]);
    expect(problemsOf(text('0')).map(({ path, line }) => [path, line])).toEqual([
      ['providers[0].timeouts.connect_ms', 2],
      ['providers[1].timeouts.connect_ms', 2],
    ]);
  });

  it('never quotes the file in a message about syntax', () => {
    for (const text of [
      'token: *hunter2',
      'token: @hunter2',
      'token: "hunter2',
      'token: "hunter2\\q"',
      'token: a: hunter2',
    ])
      expect(JSON.stringify(problemsOf(text))).not.toContain('hunter2');
  });
});
