import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import * as E from 'fp-ts/lib/Either.js';
import { decompress } from '../../../infrastructure/providers/decompression.ts';
import { readJsonText } from '../../../interfaces/http/body.ts';
import { compressions } from '../../support/compressed.ts';
import { cutAt } from '../../support/arbitraries/bytes.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';
import { placesIn } from './pieces.ts';
import { demandTellable } from './requests.ts';

const maxBytes = 64 * 1024;
const codings = ['identity', ...new Set(compressions.map(([, coding]) => coding))];

/** The first byte of an input selects the coding and the declared length, if any; the rest is the body. */
function partsOf(input: Buffer): {
  readonly coding: string;
  readonly length: string | undefined;
  readonly body: Buffer;
} {
  const first = input[0] ?? 0;
  const coding = codings[first % codings.length] ?? 'identity';
  const lengths = [undefined, undefined, String(input.length - 1), String(maxBytes + 1), '-1', '1e9', 'x'];
  return { coding, length: lengths[Math.floor(first / 16) % lengths.length], body: input.subarray(1) };
}

const decoders: Readonly<Record<string, readonly ((bytes: Buffer, bound: object) => Buffer)[]>> = {
  identity: [(bytes) => bytes],
  gzip: [gunzipSync],
  deflate: [inflateSync, inflateRawSync],
  br: [brotliDecompressSync],
  zstd: [zstdDecompressSync],
};

/** The body decompressed in one step; undefined if it is invalid in that coding, or too large. */
function wholeOf(coding: string, body: Buffer): Buffer | undefined {
  for (const decode of decoders[coding] ?? []) {
    try {
      return decode(body, { maxOutputLength: maxBytes });
    } catch {
      continue;
    }
  }
  return undefined;
}

const mark = Buffer.from('\uFEFF');

async function checkBody(input: Buffer, probe: Probe): Promise<string> {
  const { coding, length, body } = partsOf(input);
  const req = new IncomingMessage(new Socket());
  req.complete = true;
  req.headers['content-encoding'] = coding;
  if (length !== undefined) req.headers['content-length'] = length;
  let held = 0;
  const reading = readJsonText(req, {
    maxBytes,
    lease: {
      hold: (bytes) => {
        held += bytes;
        return true;
      },
      giveBack: () => undefined,
    },
    arrivals: () => ({ received: () => undefined, paused: () => undefined, over: () => undefined }),
    decompress,
  });
  for (const piece of cutAt(body, placesIn(body, probe.random))) if (piece.length > 0) req.push(piece);
  req.push(null);
  const read = await probe.step(() => reading);
  demand(held <= maxBytes, 'more of a body is held than may be');
  if (E.isLeft(read)) {
    demandTellable(read.left);
    return `${coding} ${roughly(read.left.message)}`;
  }
  const whole = wholeOf(coding, body);
  demand(whole !== undefined, 'a body is read that is nothing in its coding');
  const text = mark.equals(whole.subarray(0, mark.length)) ? whole.subarray(mark.length) : whole;
  demand(Buffer.from(read.right).equals(text), 'a body is another one than was sent');
  return `${coding} read ${Math.min(4, Math.floor(Math.log10(read.right.length + 1)))}`;
}

const json = Buffer.from('{"model":"m","messages":[{"role":"user","content":"Grüße, wie geht’s?"}]}');

export const bodiesTarget: Target = {
  name: 'bodies in a content coding',
  samples: [
    Buffer.concat([Buffer.from([0]), json]),
    ...compressions.flatMap(([, coding, compress]) =>
      [json, Buffer.alloc(200_000, 0x20)].map((bytes) =>
        Buffer.concat([Buffer.from([codings.indexOf(coding)]), compress(bytes)]),
      ),
    ),
  ],
  words: ['\u001f\u008b', '\0\0', '\uFEFF', '{', '}', 'x', '(µ/ý'],
  check: checkBody,
};
