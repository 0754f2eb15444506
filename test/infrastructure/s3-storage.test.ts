import { createHash } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { ObjectStorage } from '../../application/ports/export.ts';
import type { ExportConfig } from '../../infrastructure/config/export-config.ts';
import { s3Storage } from '../../infrastructure/export/s3-storage.ts';
import { timed } from '../support/undisturbed.ts';

const running: { readonly server: Server; readonly storage: ReturnType<typeof s3Storage> }[] = [];
afterEach(() => {
  for (const { server, storage } of running.splice(0)) {
    storage.close();
    server.closeAllConnections();
    server.close();
  }
});

const usual: ExportConfig = {
  endpoint: undefined,
  region: 'eu-central-1',
  pathStyle: true,
  auth: {
    mode: 'static_credentials',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    sessionToken: undefined,
  },
};

/** The library multiplies its pauses between attempts by this number. */
const pauses = (share: number): void => void jest.spyOn(Math, 'random').mockReturnValue(share);
beforeEach(() => pauses(0));

async function storageAt(answer: RequestListener, callMs = 30_000): Promise<ObjectStorage> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const storage = s3Storage(
    { ...usual, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    'bucket',
    { connectMs: 1000, answerMs: 200, callMs },
  );
  running.push({ server, storage });
  return storage;
}

describe('a storage that falls silent within its answer', () => {
  it.each<readonly [string, (storage: ObjectStorage) => Promise<E.Either<string, unknown>>]>([
    ['read ledger/manifest.json', ({ read }) => read('ledger/manifest.json')],
    ['list ledger/', ({ list }) => list('ledger/')],
  ])('does not hold up an export: %s', async (call, run) => {
    const storage = await storageAt((req, res) => {
      req.resume();
      res.writeHead(200, { 'content-type': 'application/xml', 'content-length': '1000' });
      res.write('<?xml version="1.0"?>');
    });
    expect(await run(storage)).toEqual(E.left(expect.stringMatching(`^the storage would not ${call}: `)));
  });
});

describe('a storage that keeps on sending a little', () => {
  it.each<readonly [string, (storage: ObjectStorage) => Promise<E.Either<string, unknown>>]>([
    ['read ledger/manifest.json', ({ read }) => read('ledger/manifest.json')],
    ['list ledger/', ({ list }) => list('ledger/')],
    ['delete ledger/1', ({ remove }) => remove('ledger/1')],
  ])('does not hold up an export: %s', async (call, run) => {
    const storage = await storageAt((req, res) => {
      req.resume();
      res.writeHead(200, { 'content-type': 'application/xml' });
      const more = setInterval(() => res.write('<!-- -->'), 50);
      res.on('close', () => clearInterval(more));
    }, 500);
    const { value, ms } = await timed(() => run(storage));
    expect(value).toEqual(E.left(`the storage would not ${call}: TimeoutError`));
    expect(ms).toBeLessThan(3000);
  });
});

describe('a storage that refuses a call', () => {
  const refusing = (status: number, code: string) =>
    storageAt((req, res) => {
      req.resume();
      res.writeHead(status, { 'content-type': 'application/xml' });
      res.end(`<Error><Code>${code}</Code><Message>of id</Message></Error>`);
    });

  it.each([
    [403, 'AccessDenied', 'AccessDenied, status 403'],
    [404, 'NoSuchBucket', 'NoSuchBucket, status 404'],
    [400, 'has blanks', 'unknown, status 400'],
  ])('is named by the code of its answer, and never by its message: %s %s', async (status, code, named) => {
    const { read } = await refusing(status, code);
    expect(await read('ledger/manifest.json')).toEqual(
      E.left(`the storage would not read ledger/manifest.json: ${named}`),
    );
  });

  it('has no object where the code is NoSuchKey', async () => {
    const { read } = await refusing(404, 'NoSuchKey');
    expect(await read('ledger/manifest.json')).toEqual(E.right(undefined));
  });

  it('that cannot be reached is named by the error of the network', async () => {
    const { list } = await storageAt((req) => req.socket.destroy());
    expect(await list('ledger/')).toEqual(E.left('the storage would not list ledger/: ECONNRESET'));
  });
});

describe('a storage that restarts', () => {
  it('is asked again for some seconds', async () => {
    pauses(0.5);
    const since = performance.now();
    const storage = await storageAt((req, res) => {
      if (performance.now() - since < 2000) req.socket.destroy();
      else res.end('{}');
    });
    expect(await storage.read('ledger/manifest.json')).toEqual(E.right('{}'));
  });
});

describe('a bucket whose host name there is not, as without `path_style`', () => {
  it('is named with that host name', async () => {
    const storage = s3Storage(
      { ...usual, endpoint: 'http://storage.invalid:9000', pathStyle: false },
      'bucket',
    );
    const found = await storage.list('ledger/');
    storage.close();
    expect(found).toEqual(
      E.left(
        expect.stringMatching(
          /^the storage would not list ledger\/: (?:ENOTFOUND|EAI_AGAIN) bucket\.storage\.invalid$/,
        ),
      ),
    );
  });
});

describe('an export without credentials', () => {
  it('says that the default chain found none, and which key sets them', async () => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    Object.assign(process.env, {
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_CONFIG_FILE: '/nowhere',
      AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    });
    const storage = s3Storage(
      { ...usual, endpoint: 'http://127.0.0.1:9', auth: { mode: 'default_chain' } },
      'bucket',
    );
    const found = await storage.read('ledger/manifest.json');
    storage.close();
    expect(found).toEqual(
      E.left(
        'there are no credentials for the storage: the default chain found none, and export.auth sets none',
      ),
    );
  });
});

describe('an export whose credentials come from an endpoint that hangs', () => {
  it('is not held up', async () => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    Object.assign(process.env, {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`,
      AWS_CONFIG_FILE: '/nowhere',
      AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    });
    jest.spyOn(console, 'warn').mockReturnValue();
    const storage = s3Storage(
      { ...usual, endpoint: 'http://127.0.0.1:9', auth: { mode: 'default_chain' } },
      'bucket',
      { connectMs: 1000, answerMs: 200, callMs: 500 },
    );
    running.push({ server: silent, storage });
    expect(await storage.read('ledger/1')).toEqual(
      E.left('the storage would not read ledger/1: TimeoutError'),
    );
  });
});

describe('a bucket that locks its objects', () => {
  it('accepts what is written: the MD5 that it insists on comes along', async () => {
    const content = '{"rows":0}';
    const storage = await storageAt((req, res) => {
      req.resume();
      const isKnown = req.headers['content-md5'] === createHash('md5').update(content).digest('base64');
      res.writeHead(isKnown ? 200 : 400, { 'content-type': 'application/xml' });
      res.end(isKnown ? '' : '<Error><Code>InvalidRequest</Code></Error>');
    });
    const written = await storage.write('ledger/manifest.json', Buffer.from(content), 'application/json');
    expect(written).toEqual(E.right(undefined));
  });
});

describe('the pages of a list', () => {
  /**
   * Answers each call with the keys of that page, and the token after it. A call counts once: the library retries one
   * whose connection broke, as a machine under load breaks one now and then.
   */
  async function pagesOf(
    page: (at: number) => { readonly keys: readonly string[]; readonly token?: string | undefined },
  ) {
    const sent = new Set<string | null>();
    const storage = await storageAt((req, res) => {
      req.resume();
      sent.add(new URL(req.url ?? '', 'http://storage').searchParams.get('continuation-token'));
      const { keys, token } = page(sent.size - 1);
      const contents = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
      const more = token === undefined ? '' : `<NextContinuationToken>${token}</NextContinuationToken>`;
      res
        .writeHead(200, { 'content-type': 'application/xml' })
        .end(`<ListBucketResult>${contents}${more}</ListBucketResult>`);
    });
    return { storage, sent };
  }

  it.each([
    ['there is an empty token', [''], 1],
    ['the same token comes again', ['more', 'more'], 2],
    ['there is no token', ['one', 'two'], 3],
  ])('end where %s', async (_, tokens, pages) => {
    const { storage, sent } = await pagesOf((at) => ({ keys: [`ledger/${at}`], token: tokens[at] }));
    const listed = await storage.list('ledger/');
    expect([...sent]).toEqual([null, ...tokens].slice(0, pages));
    expect(listed).toEqual(E.right(Array.from({ length: pages }, (_each, at) => `ledger/${at}`)));
  });

  it('that have another one behind them for ever fail the export', async () => {
    const { storage, sent } = await pagesOf((at) => ({ keys: [], token: `page ${at}` }));
    expect(await storage.list('ledger/')).toEqual(E.left('the storage would not list ledger/: EndlessList'));
    expect(sent.size).toBe(250);
  });

  it('are searched for keys with the prefix: a storage may ignore it, and other days are not removed', async () => {
    const { storage } = await pagesOf(() => ({
      keys: ['day=2026-01-01/part-00000.csv', 'day=2026-01-02/part-00000.csv'],
    }));
    expect(await storage.list('day=2026-01-02/')).toEqual(E.right(['day=2026-01-02/part-00000.csv']));
  });
});
