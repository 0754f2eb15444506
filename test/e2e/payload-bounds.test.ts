import { describe, expect, it } from '@jest/globals';
import { untruncated, payloadsScene } from './payloads-scene.ts';
import { type Answer, type Loose, payloadsOf, streamed, whole } from './scene.ts';
import { chat, messages, type Talk, talks } from './talk.ts';

const { ask, query, reload, asked, kept } = payloadsScene();

describe('`stream_max_events`: only stored events are capped', () => {
  /** A stream with `pieces` pieces of text between its start and its end. */
  const long = (talk: Talk, pieces: number, end: string): string =>
    talk.upstream.begin + talk.upstream.piece.repeat(pieces) + end;
  const finish = ({ upstream: { finish, usage, done } }: Talk): string => finish + usage + done;

  it.each(talks.map((talk) => [talk.operation, talk] as const))(
    'all frames are still parsed for usage, and response_payload_truncated=true (%s)',
    async (_, talk) => {
      await reload({ stream_max_events: 3 });
      const answer = await ask(talk, streamed(long(talk, 50, finish(talk))));
      const { response, log } = await kept(answer);
      expect(response).toEqual({
        stream: true,
        events: payloadsOf(answer).slice(0, 3),
        usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
        error: null,
      });
      expect(log).toMatchObject({ ...untruncated, response_payload_truncated: true, total_tokens: '30' });
      expect(answer.after.ledger).toEqual([expect.objectContaining({ total_tokens: '30' })]);
      expect(payloadsOf(answer).length).toBeGreaterThan(50);
    },
  );

  it.each(talks.map((talk) => [talk.operation, talk] as const))(
    'all frames are still parsed for errors (%s)',
    async (_, talk) => {
      await reload({ stream_max_events: 3 });
      const answer = await ask(talk, streamed(long(talk, 50, talk.upstream.error)));
      const { response, log } = await kept(answer);
      expect(response).toEqual({
        stream: true,
        events: payloadsOf(answer).slice(0, 3),
        usage: null,
        error: { code: 'upstream_error', message: 'fell over' },
      });
      expect(log).toMatchObject({ response_payload_truncated: true, status_code: 502 });
    },
  );

  it('a stream of exactly as many events is not truncated', async () => {
    const way = { talk: chat, stream: true };
    await reload({ stream_max_events: 4 });
    const answer = await asked(way);
    expect(payloadsOf(answer)).toHaveLength(4);
    const { response, log } = await kept(answer);
    expect(response.events).toHaveLength(4);
    expect(log).toMatchObject(untruncated);
  });

  it('tool calls after the cap are counted', async () => {
    await reload({ stream_max_events: 1 });
    const call = (index: number): string =>
      `data: ${JSON.stringify({
        choices: [
          {
            index: 0,
            delta: { tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } }] },
          },
        ],
      })}\n\n`;
    const calls = Array.from({ length: 5 }, (_, index) => call(index)).join('');
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const answer = await ask(chat, streamed(chat.upstream.begin + calls + finish(chat)), { body: { tools } });
    const { log, response } = await kept(answer);
    expect(log).toMatchObject({ exposed_tool_count: 1, invoked_tool_count: 5 });
    expect(response.events).toHaveLength(1);
  });
});

describe('the final byte cap', () => {
  const bytesOf = async ({ requestId }: Answer): Promise<Loose> => {
    const [row] = await query<Loose>(
      `select octet_length(request_json::text) as request, octet_length(response_json::text) as response
       from request_log_payloads join request_logs using (request_log_id, ownership_scope_key) where request_id = $1`,
      [requestId],
    );
    return row;
  };

  it.each(['a', 'é', '𝄞', '"', '\u0001'])('counts UTF-8 bytes and keeps valid JSON (%j)', async (sign) => {
    await reload({ request_max_bytes: 900, response_max_bytes: 700 });
    const text = sign.repeat(2000);
    const body = { messages: [{ role: 'user', content: text }] };
    const completion = {
      ...JSON.parse(chat.upstream.whole),
      choices: [{ index: 0, message: { content: text } }],
    };
    const answer = await ask(chat, whole(completion), { stream: false, body });
    expect(JSON.parse(answer.text)).toEqual(completion);
    const { request, response, log } = await kept(answer);
    expect(log).toMatchObject({ request_payload_truncated: true, response_payload_truncated: true });
    expect(request.body).toMatchObject({ model: 'fast', stream: false });
    expect(request.body.messages[0].content).toMatch(/\[TRUNCATED \d+ characters\]$/);
    expect(response.body.choices[0].message.content).toMatch(/\[TRUNCATED \d+ characters\]$/);
    const bytes = await bytesOf(answer);
    expect(bytes.request).toBeLessThanOrEqual(900);
    expect(bytes.request).toBeGreaterThan(850);
    expect(bytes.response).toBeLessThanOrEqual(700);
    expect(bytes.response).toBeGreaterThan(650);
  });

  it.each([1, 2, 20, 64, 200])('of %d bytes stores valid JSON of at most that size', async (max) => {
    await reload({ request_max_bytes: max, response_max_bytes: max });
    for (const stream of [true, false]) {
      const answer = await asked({ talk: messages, stream });
      const { log } = await kept(answer);
      expect(log).toMatchObject({ request_payload_truncated: true, response_payload_truncated: true });
      const bytes = await bytesOf(answer);
      expect(Math.max(bytes.request, bytes.response)).toBeLessThanOrEqual(max);
    }
  });

  it('sets a separate truncation flag for request and response', async () => {
    await reload({ request_max_bytes: 100 });
    const { log } = await kept(await asked({ talk: chat, stream: false }));
    expect(log).toMatchObject({ request_payload_truncated: true, response_payload_truncated: false });
  });

  it('known bulky fields are truncated but keep their shape, and the flag is set', async () => {
    await reload({});
    const data = 'A'.repeat(5000);
    const url = `data:image/png;base64,${data}`;
    const content = [
      { type: 'text', text: 'x'.repeat(5000) },
      { type: 'image_url', image_url: { url } },
      { type: 'input_audio', input_audio: { data, format: 'wav' } },
      { type: 'file', file: { file_data: data, filename: 'f' } },
    ];
    const body = { messages: [{ role: 'user', content }] };
    const { request, log } = await kept(await asked({ talk: chat, stream: false }, { body }));
    const cut = '[TRUNCATED 5000 characters]';
    expect(request.body.messages[0].content).toEqual([
      content[0],
      { type: 'image_url', image_url: { url: `data:image/png;base64,${cut}` } },
      { type: 'input_audio', input_audio: { data: cut, format: 'wav' } },
      { type: 'file', file: { file_data: cut, filename: 'f' } },
    ]);
    expect(log).toMatchObject({ request_payload_truncated: true, response_payload_truncated: false });
  });
});
