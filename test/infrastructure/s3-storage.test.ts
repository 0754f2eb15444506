import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { ObjectStorage } from '../../application/ports/export.ts';
import { s3Storage } from '../../infrastructure/export/s3-storage.ts';

let server: Server;
let storage: ReturnType<typeof s3Storage>;

beforeAll(async () => {
  server = createServer((req, res) => {
    req.resume();
    // A part of an answer, and then nothing more.
    res.writeHead(200, { 'content-type': 'application/xml', 'content-length': '1000' });
    res.write('<?xml version="1.0"?>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  storage = s3Storage(
    {
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: 'eu-central-1',
      pathStyle: true,
      auth: {
        mode: 'static_credentials',
        accessKeyId: 'id',
        secretAccessKey: 'secret',
        sessionToken: undefined,
      },
    },
    'bucket',
    { connectMs: 1000, answerMs: 200 },
  );
});
afterAll(() => {
  storage.close();
  server.closeAllConnections();
  server.close();
});

describe('a storage that falls silent within its answer', () => {
  it.each<readonly [string, (storage: ObjectStorage) => Promise<E.Either<string, unknown>>]>([
    ['read ledger/manifest.json', ({ read }) => read('ledger/manifest.json')],
    ['list ledger/', ({ list }) => list('ledger/')],
  ])('does not hold up an export: %s', async (call, run) => {
    expect(await run(storage)).toEqual(E.left(expect.stringMatching(`^the storage would not ${call}: `)));
  });
});
