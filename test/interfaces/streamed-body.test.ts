import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Pieces, StreamedBody } from '../../interfaces/http/streamed-body.ts';

let server: Server;
let url: string;
/** How the next request is answered. */
let answer: (res: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((_, res) => answer(res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server?.close(resolve)));

/** A caller that never disconnects. */
const stays = { gone: () => false };

const streamed = (writes: readonly Pieces[]) => (res: ServerResponse) => {
  const body = new StreamedBody({ res, link: stays }, { 'content-type': 'text/event-stream' });
  for (const pieces of writes) body.write(pieces);
  body.end();
};

/** Everything that is received for what is sent, until the connection ends. */
const exchanged = (sent: string): Promise<string> => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(sent);
  return text(socket);
};
const asked = (version: string, headers = ''): string => `GET / HTTP/${version}\r\nhost: x\r\n${headers}\r\n`;
const bodyOf = (exchange: string): string => exchange.slice(exchange.indexOf('\r\n\r\n') + 4);

describe('a streamed answer body', () => {
  it('arrives as it was written, for any pieces and any grouping of writes', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }).map((each) => each.toWellFormed()),
      fc.string({ unit: 'grapheme', maxLength: 40 }).map((each) => Buffer.from(each.toWellFormed())),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(piece, { maxLength: 4 }), { maxLength: 6 }), async (writes) => {
        answer = streamed(writes);
        const all = Buffer.concat(writes.flat().map((each) => Buffer.from(each)));
        expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(all);
      }),
      { numRuns: 200 },
    );
  });

  it('has one chunk per write, and none for an empty write', async () => {
    answer = streamed([['a: 1\n', Buffer.from('b: é\n')], [], [''], ['c']]);
    const exchange = await exchanged(asked('1.1', 'connection: close\r\n'));
    expect(exchange.toLowerCase()).toContain('\r\ntransfer-encoding: chunked\r\n');
    expect(bodyOf(exchange)).toBe('b\r\na: 1\nb: é\n\r\n1\r\nc\r\n0\r\n\r\n');
  });

  it('leaves its connection to the next request, which may already have arrived', async () => {
    answer = streamed([['one'], ['two']]);
    const twice = await exchanged(asked('1.1') + asked('1.1', 'connection: close\r\n'));
    expect(twice.match(/3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n/g)).toHaveLength(2);
  });

  it('is not chunked for HTTP/1.0 callers', async () => {
    answer = streamed([['one'], ['two']]);
    const exchange = await exchanged(asked('1.0'));
    expect(exchange.toLowerCase()).not.toContain('transfer-encoding');
    expect(bodyOf(exchange)).toBe('onetwo');
  });

  it('that breaks off has no last chunk, so that its caller notices', async () => {
    answer = (res) => {
      new StreamedBody({ res, link: stays }, {}).write(['one']);
      setTimeout(() => res.destroy(), 50);
    };
    const broken = await fetch(url);
    await expect(broken.text()).rejects.toThrow();
  });

  it('reports when its caller reads more slowly than it is written, and when there is room again', async () => {
    const drained = new Promise<boolean>((resolve) => {
      answer = (res) => {
        const body = new StreamedBody({ res, link: stays }, {});
        let writes = 0;
        while (body.write(['x'.repeat(65_536)])) writes += 1;
        expect(writes).toBeLessThan(1000);
        res.once('drain', () => {
          resolve(body.write(['y']));
          body.end();
        });
      };
    });
    const taken = (await fetch(url)).text();
    expect(await drained).toBe(true);
    expect(await taken).toMatch(/^x+y$/);
  });
});
