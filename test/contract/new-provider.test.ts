import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { violations } from '../architecture/import-rules.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, type ConfigFile, type GatewayProcess, queries, spawnGateway } from '../support/gateway.ts';
import {
  type Block,
  copyProduct,
  ended,
  filesThatDoNotCompile,
  follow,
  pageBlocks,
  restore,
} from '../support/new-provider.ts';
import { makeTestFolder } from '../support/test-server.ts';

type Diff = Extract<Block, { kind: 'diff' }>;

/** The compiler reads the whole product, on machines that also do other work. */
const compilingMs = 300_000;

const kindFile = 'domain/routing/model.ts';
const database = withDatabase();
const query = queries(database.url);
let folder: string;
let blocks: readonly Block[];

const diffs = (): readonly Diff[] => blocks.flatMap((block) => (block.kind === 'diff' ? block : []));

beforeAll(async () => {
  folder = await makeTestFolder('new-provider');
  blocks = await pageBlocks();
  await copyProduct(folder);
  for (const block of blocks) await follow(block, folder);
}, compilingMs);

describe('the page about adding a provider, followed to the letter in a copy of the product', () => {
  it('has a diff for each of the tables, and a configuration', () => {
    expect(diffs().map(({ file }) => file)).toEqual([
      kindFile,
      'infrastructure/config/provider-config.ts',
      'infrastructure/config/lint-transport.ts',
      'infrastructure/telemetry/gen-ai.ts',
      'infrastructure/providers/registry.ts',
    ]);
    expect(blocks.filter(({ kind }) => kind === 'yaml')).toHaveLength(1);
  });

  it(
    'compiles, and names each of its tables: without any one of them, the compiler reports that file',
    async () => {
      expect(await filesThatDoNotCompile(folder)).toEqual([]);
      for (const diff of diffs().filter(({ file }) => file !== kindFile)) {
        await restore(diff.file, folder);
        expect(await filesThatDoNotCompile(folder)).toContain(diff.file);
        await follow(diff, folder);
      }
    },
    compilingMs,
  );

  it.each([
    ['with its credentials', (text: string) => text],
    ['without any', (text: string) => text.replace(/^ *auth: .*\n/m, '')],
  ])('makes a configuration valid, %s', async (_name, change) => {
    const text = change(pageConfiguration());
    const file = path.join(folder, 'gateway.yaml');
    await writeFile(file, text);
    const command = ['interfaces/cli/gateway.mjs', 'check-config', file];
    const environment = [`DATABASE_URL=${database.url()}`, 'ORACLE_WORD=open-sesame-0123456789'];
    const checked = await ended('env', [...environment, process.execPath, ...command], folder);
    expect(checked).toEqual({ failed: false, printed: expect.stringContaining('is valid') });
  });

  it('violates no import rule between layers', async () => {
    const files = await readdir(path.join(folder, 'infrastructure', 'providers', 'oracle'));
    const sources = [
      ...files.map((file) => `infrastructure/providers/oracle/${file}`),
      ...diffs().map(({ file }) => file),
    ].map((file) => ({ path: file, text: readFileSync(path.join(folder, file), 'utf8') }));
    expect(sources.length).toBeGreaterThan(8);
    expect(violations(sources)).toEqual([]);
  });

  it('writes the kind into the JSON Schema of the configuration', async () => {
    expect(await readFile(path.join(folder, 'config', 'gateway.schema.json'), 'utf8')).toContain('"oracle"');
  });

  describe('when served', () => {
    const key = aKey();
    let asked: readonly {
      readonly url?: string | undefined;
      readonly word?: string;
      readonly body: string;
    }[] = [];
    let upstream: Server;
    let gateway: GatewayProcess;

    beforeAll(async () => {
      upstream = createServer((req, res) => {
        let body = '';
        req.on('data', (chunk) => (body += String(chunk)));
        req.on('end', () => {
          asked = [...asked, { url: req.url, word: req.headers.authorization ?? 'none', body }];
          res.writeHead(200, { 'content-type': 'application/x-ndjson' });
          res.write('{"piece":"Per"}\n{"piece":');
          res.end('"haps."}\n{"spent":{"in":3,"out":2}}\n');
        });
      });
      await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
      const copy = { root: folder, environment: { ORACLE_WORD: 'open-sesame-0123456789' } };
      gateway = await spawnGateway(configuration(upstream, key), database.url(), [], undefined, copy);
    });
    afterAll(() => {
      gateway?.kill();
      upstream.close();
    });

    it('streams an answer, and writes its row to the ledger', async () => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'pythia',
          stream: true,
          messages: [{ role: 'user', content: 'Will it rain?' }],
        }),
      });
      const events = (await response.text()).split('\n\n').filter((event) => event !== '');
      expect([response.status, events.pop()]).toEqual([200, 'data: [DONE]']);
      expect(events.map((event) => JSON.parse(event.slice('data: '.length)) as unknown)).toMatchObject([
        { object: 'chat.completion.chunk', choices: [{ delta: { content: 'Per' }, finish_reason: null }] },
        { object: 'chat.completion.chunk', choices: [{ delta: { content: 'haps.' }, finish_reason: null }] },
        {
          choices: [{ delta: {}, finish_reason: 'stop' }],
          usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
        },
      ]);
      expect(asked).toEqual([
        { url: '/muse', word: 'Word open-sesame-0123456789', body: '{"question":"Will it rain?"}' },
      ]);
      const rows = await query(
        `select provider_key, model_key, upstream_model, prompt_tokens, completion_tokens, pricing_status, cost_picousd
         from usage_cost_events`,
      );
      expect(rows).toEqual([
        {
          provider_key: 'delphi',
          model_key: 'pythia',
          upstream_model: 'pythia-1',
          prompt_tokens: '3',
          completion_tokens: '2',
          pricing_status: 'priced',
          // 3 at 1 and 2 at 2 dollars a million.
          cost_picousd: '7000000',
        },
      ]);
    });
  });
});

const pageConfiguration = (): string =>
  blocks.flatMap((block) => (block.kind === 'yaml' ? block.text : [])).join('');

/** The page's configuration, with the upstream of this test and a user with a key. */
function configuration(upstream: Server, key: string): ConfigFile {
  const address = upstream.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    server: { bind: '127.0.0.1:0' },
    ...(parse(pageConfiguration().replace('127.0.0.1:4010', `127.0.0.1:${port}`)) as ConfigFile),
    users: [{ email: 'a@example.com', name: 'A' }],
    api_keys: [{ name: 'dev', owner: 'user:a@example.com', value: key }],
  };
}
