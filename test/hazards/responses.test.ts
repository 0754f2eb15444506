import { describe, expect, it } from '@jest/globals';
import { scene, streamed, whole } from '../e2e/scene.ts';
import { responses, talks, wholeStream } from '../e2e/talk.ts';
import { basicConfig } from '../support/gateway.ts';

/** `many` has two routes of one priority, and a third that comes first because its number is lower. */
const { ask } = scene((url, key) => {
  const auth = { mode: 'none' };
  const at = (place: string) => ({ id: place, type: 'compat', base_url: `${url}/${place}`, auth });
  const basic = basicConfig(url, key);
  return {
    ...basic,
    providers: [...(basic['providers'] as object[]), at('first'), at('second'), at('third')],
    models: [
      ...(basic['models'] as object[]),
      {
        id: 'many',
        routes: [
          { provider: 'second', upstream_model: 'm', priority: 20 },
          { provider: 'third', upstream_model: 'm', priority: 20 },
          { provider: 'first', upstream_model: 'm', priority: 10, capabilities: { tools: false } },
        ],
      },
    ],
  };
});

const delta =
  '{"type":"response.output_text.delta","delta":"x","item_id":"msg_1","n":9007199254740993,"p":0.10}';
const completed =
  '{"response":{"id":"r","object":"response","status":"completed","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},"output":[]},"type":"response.completed"}';

describe('faults of other gateways that this gateway does not have', () => {
  describe('hazard 58: missing output_item.added, sequence_number or indexes break agents; here events pass byte for byte', () => {
    it.each([
      ['in the usual spelling', wholeStream(responses)],
      [
        'with an unknown event type, gaps in the numbers, unusual digits and spaces',
        `event: response.vendor.thing\ndata: { "type" : "response.vendor.thing" , "sequence_number":7}\n\nevent: response.output_text.delta\ndata: ${delta}\n\nevent: response.completed\ndata: ${completed}\n\n`,
      ],
      [
        'with `data` before `event`, and sorted keys',
        `data: ${delta}\nevent: response.output_text.delta\n\ndata: ${completed}\nevent: response.completed\n\n`,
      ],
      ['without event lines', `data: ${delta}\n\ndata: ${completed}\n\n`],
      [
        'with CRLF',
        `event: response.output_text.delta\r\ndata: ${delta}\r\n\r\nevent: response.completed\r\ndata: ${completed}\r\n\r\n`,
      ],
    ])('%s', async (_, body) => {
      const answer = await ask(responses, streamed(body, { cuts: { kind: 'random', seed: 5 } }));
      expect(answer.text).toBe(`${body}data: [DONE]\n\n`);
      expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
    });

    it('a non-streamed response passes byte for byte too', async () => {
      const body = `{ "id":"r","object":"response","status":"completed","output":[],"n":9007199254740993,\n "usage":null}`;
      const answer = await ask(responses, whole(body), { stream: false });
      expect(answer.text).toBe(body);
    });
  });

  describe('hazard 59: encrypted reasoning fails when the follow-up lands on another upstream', () => {
    it('all requests for a model that need the same capabilities have the same route', async () => {
      const paths = new Set<string | undefined>();
      for (let turn = 0; turn < 20; turn += 1) {
        for (const talk of talks) {
          const asked = { stream: false, body: { model: 'many' } };
          const { upstream } = await ask(talk, whole(talk.upstream.whole), asked);
          paths.add(upstream?.path.replace(/\/(chat\/completions|responses)$/, ''));
        }
      }
      expect([...paths]).toEqual(['/v1/first']);
    });

    it('a failed request is not retried on a second route, and the next one has the same route', async () => {
      const asked = { stream: false, body: { model: 'many' } };
      const failed = await ask(responses, whole({ error: { message: 'Down.' } }, { status: 503 }), asked);
      expect([failed.status, failed.upstream?.path]).toEqual([503, '/v1/first/responses']);
      const next = await ask(responses, whole(responses.upstream.whole), asked);
      expect([next.status, next.upstream?.path]).toEqual([200, '/v1/first/responses']);
    });

    it('a request that needs another capability does not change the route of the next one', async () => {
      const tools = [{ type: 'function', name: 'f', parameters: {} }];
      const body = { model: 'many', tools };
      const withTools = await ask(responses, whole(responses.upstream.whole), { stream: false, body });
      expect(withTools.upstream?.path).toBe('/v1/second/responses');
      const without = await ask(responses, whole(responses.upstream.whole), {
        stream: false,
        body: { model: 'many' },
      });
      expect(without.upstream?.path).toBe('/v1/first/responses');
    });
  });
});
