import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { randomFrom } from './seeded.ts';

/** How an upstream on bare sockets answers one request. */
interface Asked {
  readonly socket: Socket;
  readonly random: () => number;
  readonly type: string;
  readonly payload: Buffer;
}

const head = ({ type }: Asked, more: string, version = '1.1'): Buffer =>
  Buffer.from(`HTTP/${version} 200 OK\r\ncontent-type: ${type}\r\n${more}\r\n`);
const ofLength = (asked: Asked, more = '', version = '1.1'): Buffer =>
  Buffer.concat([head(asked, `content-length: ${asked.payload.length}\r\n${more}`, version), asked.payload]);
const inChunks = (asked: Asked, trailers = ''): Buffer =>
  Buffer.concat([
    head(asked, 'transfer-encoding: chunked\r\n'),
    Buffer.from(`${asked.payload.length.toString(16)}\r\n`),
    asked.payload,
    Buffer.from(`\r\n0\r\n${trailers}\r\n`),
  ]);
const untilItEnds = (asked: Asked, version: string): Buffer =>
  Buffer.concat([head(asked, 'connection: close\r\n', version), asked.payload]);
const either = (asked: Asked): Buffer => (asked.random() < 0.5 ? ofLength(asked) : inChunks(asked));
/** Less than half of a message: nothing in it shows that the answer is complete. */
const aPart = (asked: Asked): Buffer => {
  const message = either(asked);
  return message.subarray(0, Math.floor((asked.random() * message.length) / 2));
};
const soon = ({ random }: Asked, then: () => void): void => void setTimeout(then, random() * 4);

type Act = (asked: Asked) => void;

const wholeAnswers = {
  'with a length': (asked) => asked.socket.write(ofLength(asked)),
  'in chunks, with trailers': (asked) => asked.socket.write(inChunks(asked, 'x-sum: 1\r\n')),
  'until it ends': (asked) => asked.socket.end(untilItEnds(asked, '1.1')),
  'in HTTP/1.0': (asked) => asked.socket.end(untilItEnds(asked, '1.0')),
  'in HTTP/1.0, and stays': (asked) =>
    asked.socket.write(ofLength(asked, 'connection: keep-alive\r\n', '1.0')),
  'after other heads': (asked) =>
    asked.socket.write(Buffer.concat([Buffer.from('HTTP/1.1 103 Soon\r\n\r\n'), either(asked)])),
  'with a short hint': (asked) => asked.socket.write(ofLength(asked, 'keep-alive: timeout=3\r\n')),
  'in two pieces': (asked) => {
    const message = either(asked);
    const at = Math.floor(asked.random() * message.length);
    asked.socket.write(message.subarray(0, at));
    soon(asked, () => asked.socket.write(message.subarray(at)));
  },
  'and closes then': (asked) =>
    asked.socket.write(either(asked), () => soon(asked, () => asked.socket.end())),
  'and says more then': (asked) =>
    asked.socket.write(either(asked), () => soon(asked, () => asked.socket.write('more'))),
} as const satisfies Record<string, Act>;

const brokenAnswers = {
  'breaks off': (asked) => asked.socket.end(aPart(asked)),
  'breaks off with a reset': (asked) =>
    asked.socket.write(aPart(asked), () => asked.socket.resetAndDestroy()),
  'falls silent': (asked) => asked.socket.write(aPart(asked)),
  'hangs up': (asked) => asked.socket.end(),
  resets: (asked) => asked.socket.resetAndDestroy(),
  'switches protocols': (asked) => asked.socket.write('HTTP/1.1 101 X\r\nupgrade: y\r\n\r\nzz'),
  'says nonsense': (asked) => asked.socket.write('SSH-2.0-x\r\n'),
  'is not compressed as it says': (asked) => {
    const lies = { ...asked, payload: Buffer.alloc(1_000_000, 'x') };
    asked.socket.write(ofLength(lies, 'content-encoding: gzip\r\n'));
  },
  'is empty': (asked) => asked.socket.write('HTTP/1.1 204 No Content\r\n\r\n'),
} as const satisfies Record<string, Act>;

const acts: Readonly<Record<string, Act>> = { ...wholeAnswers, ...brokenAnswers };
export const isWhole = (act: string): boolean => act in wholeAnswers;
export const hostileActs = Object.keys(acts);

const between = (text: string, from: string): string => text.split(from)[1]?.split('\r\n')[0] ?? '';

/** Answers each request as its header `x-act` says, with the payload, probabilities and id in its headers. */
export async function startHostileUpstream(payloads: { readonly whole: string; readonly stream: string }) {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => undefined);
    let come = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      come = Buffer.concat([come, bytes]);
      const at = come.indexOf('\r\n\r\n');
      const text = come.toString('latin1', 0, at);
      const size = at + 4 + Number(between(text, 'content-length: '));
      if (at < 0 || come.length < size) return;
      come = come.subarray(size);
      heard.push(between(text, 'x-id: '));
      const type = between(text, 'accept: ');
      const payload = Buffer.from(type === 'text/event-stream' ? payloads.stream : payloads.whole);
      const random = randomFrom(Number(between(text, 'x-id: ')));
      acts[between(text, 'x-act: ')]?.({ socket, random, type, payload });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    heard,
    open: () => sockets.size,
    close: () => void server.close(),
  };
}
