import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import { lintConfig } from '../../../infrastructure/config/lint.ts';
import { type LoadedConfig, parseConfig } from '../../../infrastructure/config/load.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';

const folder = path.join(import.meta.dirname, '../../../config');
const example = readFileSync(path.join(folder, 'example.yaml'), 'utf8');
const quickstart = readFileSync(path.join(folder, 'quickstart.yaml'), 'utf8');

/** The value of each variable that the samples name; a secret that no message may contain. */
const secret = 'top-secret-0123456789abcdef0123456789';
const variables: Readonly<Record<string, string>> = Object.fromEntries(
  [...(example + quickstart).matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [
    name,
    name.endsWith('KEY') ? `gwk_abcdefgh.${secret}` : name.endsWith('URL') ? 'http://127.0.0.1:1/v1' : secret,
  ]),
);

const lintOf = (loaded: LoadedConfig) =>
  lintConfig(loaded, { hasPrice: () => false, canServe: () => true, plainHosts: () => E.right([]) });

function checkConfig(input: Buffer, probe: Probe): string {
  const text = input.toString('utf8');
  const read = probe.step(() => parseConfig(text, variables));
  const lines = text.split(/\r\n|\n|\r/).length;
  const problems = E.isLeft(read) ? read.left : probe.step(() => lintOf(read.right));
  demand(E.isRight(read) || problems.length > 0, 'a configuration is refused without a reason');
  for (const { line, column, message } of problems) {
    demand(message !== '', 'a problem without words');
    demand(!message.includes(secret), 'a problem shows a secret');
    demand(line >= 0 && line <= lines && column >= 0, 'a problem is at a place that is not there');
  }
  const first = problems[0];
  return `${read._tag} ${Math.min(3, problems.length)} ${roughly(first === undefined ? '' : `${first.path.replaceAll(/\[.*?\]/g, '[]')} ${first.message}`)}`;
}

const kinds = `providers:
  - &one {id: a, type: compat, base_url: "https://a.example/v1", auth: {mode: bearer, token: "\${MODELS_API_KEY}"}}
  - {<<: *one, id: b}
  - {id: c, type: cloud_b_platform, region: us-east-1, auth: {mode: default_credential_chain}}
models:
  - id: m
    aliases: [n]
    routes:
      - {provider: a, upstream_model: x, priority: 1, extra_body: {a: [1, 2.50]}}
      - {provider: b, upstream_model: "y"}
`;

export const configTarget: Target = {
  name: 'configuration',
  samples: [kinds, quickstart, quickstart, kinds, example].map((text) => Buffer.from(text)),
  words: [
    '- ',
    ': ',
    '\n  ',
    '{',
    '}',
    '[',
    ']',
    '&a ',
    '*a',
    '<<: *one',
    '!!str ',
    '!x ',
    '|\n',
    '>-\n',
    '? ',
    '---\n',
    '"',
    "'",
    '#',
    '%YAML 1.2\n',
    '...\n',
    '\t',
    '~',
    'null',
    'true',
    '0x10',
    '1e3',
    '.inf',
    '2026-01-01',
    '${MODELS_API_KEY}',
    '${NAME',
    '$${',
    '${file:/etc/hosts}',
    '${}',
    '__proto__: 1\n',
    'constructor: {}\n',
    'id: a\n',
    'type: compat\n',
    'hard_limit: true',
    'amount_10000: -1',
    'cadence: daily',
    'priority: 0',
  ],
  grownBytes: 32 * 1024,
  check: checkConfig,
};
