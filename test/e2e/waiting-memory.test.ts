import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { aKey, basicConfig } from '../support/gateway.ts';
import { heldScene } from './held-scene.ts';
import { type HeldCall, wholeAnswer } from './held-upstream.ts';
import { eventually } from './traces.ts';

const key = aKey();
const scene = heldScene((url) => basicConfig(url, key));

const requests = 50;
const body = JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'x'.repeat(200_000) }] });

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes outside the heap, where bodies are held as they arrived and as they were sent. */
function heldBytes(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}

/** Not by `fetch`, which holds the bytes that it has sent. */
async function ask(): Promise<number | undefined> {
  const call = request(`${scene.gateway().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  }).end(body);
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

it('requests that wait for their upstream hold the bytes of their bodies once', async () => {
  const before = heldBytes();
  const answers = Array.from({ length: requests }, ask);
  const calls: HeldCall[] = [];
  for (let call = 0; call < requests; call += 1) calls.push(await scene.upstream().next());
  await eventually(() => heldBytes() - before < 1.5 * requests * body.length || undefined);
  for (const call of calls) {
    call.head('whole');
    call.write(wholeAnswer);
    call.end();
  }
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
});
