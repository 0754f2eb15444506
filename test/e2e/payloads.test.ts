import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { aKey } from '../support/gateway.ts';
import { keys, ways, noted, untruncated, payloadsScene } from './payloads-scene.ts';
import { type Answer, eventsIn, type Loose, payloadsOf, streamed, whole } from './scene.ts';
import { chat, embeddings, messages, responses, talks } from './talk.ts';

const { ask, open, query, databaseUrl, reload, asked, kept, nothingMoreComes, rowsOf } = payloadsScene();

describe('request-log capture', () => {
  it.each([...Object.entries(keys).filter(([name]) => name !== 'poor'), ['user', undefined] as const])(
    'disabled: no request-log rows for any family, but a ledger row (key: %s)',
    async (_, key) => {
      await reload({ capture_mode: 'disabled' });
      const answers: Answer[] = [];
      for (const [, way] of ways) answers.push(await asked(way, key === undefined ? {} : { key }));
      await nothingMoreComes();
      for (const answer of answers) {
        expect(answer.status).toBe(200);
        expect(await rowsOf(answer)).toEqual([]);
        expect(answer.after.ledger).toHaveLength(1);
      }
    },
  );

  it('summary_only: summary rows written with has_payload=false; no payload rows', async () => {
    await reload({ capture_mode: 'summary_only' });
    const answers: Answer[] = [];
    for (const [, way] of ways) answers.push(await asked(way));
    await nothingMoreComes();
    for (const answer of answers)
      expect(await rowsOf(answer)).toEqual([
        expect.objectContaining({
          ...noted,
          has_row: false,
          metadata_json: expect.objectContaining({
            payload_policy: expect.objectContaining({ capture_mode: 'summary_only' }),
          }),
        }),
      ]);
  });

  it.each(ways)(
    'redacted_payloads: summary rows and sanitized payload rows are written (%s)',
    async (_, way) => {
      await reload({});
      const secrets = { password: 'a-password', nested: { access_token: 'a-token' } };
      const answer = await asked(way, { body: { x_value: secrets } });
      expect(answer.status).toBe(200);
      const { request, response, log } = await kept(answer);
      expect(log).toMatchObject(untruncated);
      expect(Object.keys(request)).toEqual(['headers', 'body']);
      expect(request.headers.authorization).toBe('[REDACTED]');
      const x_value = { password: '[REDACTED]', nested: { access_token: '[REDACTED]' } };
      expect(request.body).toEqual({ ...way.talk.body(way.stream), x_value });
      if (way.stream)
        expect(response).toEqual({
          stream: true,
          events: payloadsOf(answer),
          usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
          error: null,
        });
      else expect(response).toEqual({ body: JSON.parse(answer.text) });
    },
  );

  it('the request headers are stored, with sensitive values redacted', async () => {
    const headers = {
      cookie: 'session=s',
      'x-api-key': 'k',
      'anthropic-api-key': 'k',
      'x-goog-api-key': 'k',
      'user-agent': 'agent/1.0',
      'X-Mixed-Case': 'Value',
    };
    const { request } = await kept(await asked({ talk: chat, stream: false }, { headers }));
    expect(request.headers).toMatchObject({
      authorization: '[REDACTED]',
      cookie: '[REDACTED]',
      'x-api-key': '[REDACTED]',
      'anthropic-api-key': '[REDACTED]',
      'x-goog-api-key': '[REDACTED]',
      'user-agent': 'agent/1.0',
      'x-mixed-case': 'Value',
      'content-type': 'application/json',
    });
  });

  it('user-owned API keys honor `users.request_logging_enabled`: a user with it off has no rows', async () => {
    await reload({});
    const answers: Answer[] = [];
    for (const [, way] of ways) answers.push(await asked(way, { key: keys.quiet }));
    await nothingMoreComes();
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(await rowsOf(answer)).toEqual([]);
    }
  });

  it.each(['account', 'team'] as const)(
    'service-account credentials and team keys persist summary rows, and payload rows unless the mode is summary_only (%s)',
    async (who) => {
      await reload({ capture_mode: 'summary_only' });
      const answer = await asked({ talk: chat, stream: false }, { key: keys[who] });
      await nothingMoreComes();
      expect(await rowsOf(answer)).toEqual([expect.objectContaining({ ...noted, has_row: false })]);
      for (const [, way] of ways) {
        const { log } = await kept(await asked(way, { key: keys[who] }));
        expect(log).toMatchObject({ ...untruncated, user_id: null, team_id: 'platform' });
      }
    },
  );

  it('`metadata_json` contains the policy that was in force, with its version', async () => {
    await reload({ request_max_bytes: 4000, response_max_bytes: 5000, stream_max_events: 6 });
    const { log } = await kept(await asked({ talk: responses, stream: true }));
    expect(log.metadata_json).toEqual({
      operation: 'responses',
      stream: true,
      payload_policy: {
        capture_mode: 'redacted_payloads',
        request_max_bytes: 4000,
        response_max_bytes: 5000,
        stream_max_events: 6,
        version: 'builtin:v2',
      },
    });
  });

  it('a changed file takes effect at its reload, including the redaction of its credentials', async () => {
    const token = 'token-that-came-later-0123';
    const spoken = { messages: [{ role: 'user', content: `I say ${token}` }], metadata: { a: '1', b: '2' } };
    await reload({});
    const before = await kept(await ask(chat, whole(chat.upstream.whole), { stream: false, body: spoken }));
    expect(before.request.body).toMatchObject(spoken);
    await reload({ redaction_paths: ['body.metadata.a'] }, { auth: { mode: 'bearer', token } });
    const after = await kept(await ask(chat, whole(chat.upstream.whole), { stream: false, body: spoken }));
    expect(after.request.body).toMatchObject({
      messages: [{ role: 'user', content: 'I say [REDACTED]' }],
      metadata: { a: '[REDACTED]', b: '2' },
    });
    await reload({ capture_mode: 'summary_only' });
    const last = await asked({ talk: chat, stream: false });
    await nothingMoreComes();
    expect(await rowsOf(last)).toEqual([expect.objectContaining({ ...noted, has_row: false })]);
  });
});

describe('`has_payload`', () => {
  it('becomes true in the transaction of the payload, and the response does not wait for it', async () => {
    await reload({});
    const holder = new Client(databaseUrl());
    await holder.connect();
    await holder.query('begin');
    await holder.query('lock table request_log_payloads in exclusive mode');
    const answer = await asked({ talk: chat, stream: false });
    expect(answer.after.logs).toEqual([expect.objectContaining(noted)]);
    await sleep(100);
    expect(
      await query('select has_payload from request_logs where request_id = $1', [answer.requestId]),
    ).toEqual([{ has_payload: false }]);
    await holder.query('rollback');
    await holder.end();
    await kept(answer);
    const [same] = await query<Loose>(
      `select l.xmin::text = p.xmin::text as same from request_logs l
       join request_log_payloads p using (request_log_id, ownership_scope_key) where request_id = $1`,
      [answer.requestId],
    );
    expect(same).toEqual({ same: true });
  });
});

describe('`redaction_paths`', () => {
  it('are anchored at the wrapped payload root; `*` matches exactly one key', async () => {
    await reload({
      redaction_paths: [
        'headers.user-agent',
        'body.metadata.*',
        'body.messages.*.name',
        'body.choices.*.message.content',
        '*.temperature',
        'metadata',
      ],
    });
    const body = {
      metadata: { a: 'x', b: { c: 'x' } },
      messages: [{ role: 'user', content: 'kept', name: 'x' }],
      temperature: 0.5,
      top: { temperature: 0.5, metadata: 'kept' },
    };
    const { request, response } = await kept(await asked({ talk: chat, stream: false }, { body }));
    expect(request).toMatchObject({
      headers: { 'user-agent': '[REDACTED]' },
      body: {
        metadata: { a: '[REDACTED]', b: '[REDACTED]' },
        messages: [{ role: 'user', content: 'kept', name: '[REDACTED]' }],
        temperature: '[REDACTED]',
        top: { temperature: 0.5, metadata: 'kept' },
      },
    });
    expect(response.body).toMatchObject({ choices: [{ message: { content: '[REDACTED]' } }] });
  });

  it('apply to the events and the usage of a stream', async () => {
    await reload({
      redaction_paths: ['events.*.choices.*.delta.content', 'usage.prompt_tokens', 'events.*.model'],
    });
    const { response } = await kept(await asked({ talk: chat, stream: true }));
    expect(response.usage).toEqual({ prompt_tokens: '[REDACTED]', completion_tokens: 20, total_tokens: 30 });
    expect(response.events[1]).toMatchObject({
      model: '[REDACTED]',
      choices: [{ delta: { content: '[REDACTED]' } }],
    });
  });
});

describe('transformed outbound provider request bodies are not persisted', () => {
  it('for a route with changes, `extra_body` and `extra_headers`', async () => {
    await reload({});
    const body = {
      model: 'shimmed',
      max_completion_tokens: 9,
      messages: [
        { role: 'developer', content: 'd' },
        { role: 'user', content: 'u' },
      ],
    };
    const answer = await ask(chat, whole(chat.upstream.whole), { stream: false, body });
    expect(answer.upstream?.body).toMatchObject({ model: 'vendor/other-name', max_tokens: 9, top_k: 77 });
    expect(answer.upstream?.headers).toMatchObject({ 'x-route': 'route-header' });
    const { request } = await kept(answer);
    expect(request.body).toEqual({ ...body, stream: false });
    expect(JSON.stringify(request)).not.toMatch(/vendor|route-header|chat_template_kwargs|top_k/);
  });

  it.each([false, true])('for a messages client, but messages bodies are (streamed: %s)', async (stream) => {
    await reload({});
    const body = { model: 'shimmed', system: 'Be brief.' };
    const answer = await asked({ talk: messages, stream }, { body });
    expect(answer.upstream?.body).toMatchObject({ messages: [{ role: 'system' }, { role: 'user' }] });
    const { request, response } = await kept(answer);
    expect(request.body).toEqual({ ...messages.body(stream), ...body });
    if (stream) {
      expect(response.events).toEqual(payloadsOf(answer));
      expect(response.events.map(({ type }: Loose) => type)).toEqual([
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ]);
    } else {
      expect(response.body).toEqual(JSON.parse(answer.text));
      expect(response.body).toMatchObject({ type: 'message', role: 'assistant' });
    }
    expect(JSON.stringify(response)).not.toMatch(/chat\.completion|finish_reason/);
  });
});

describe('the stored payload of a request that fails', () => {
  const everywhere = ways.filter(([, { talk }]) => talk !== embeddings);

  it.each(ways)(
    'has the client’s request and the redacted error if the upstream refuses it (%s)',
    async (_, way) => {
      await reload({});
      const refusal = whole(
        { error: { message: 'No, see https://up.example/help?key=v', secret: 's' } },
        { status: 422 },
      );
      const answer = await ask(way.talk, refusal, { stream: way.stream });
      expect(answer.status).toBe(422);
      const { request, response, log } = await kept(answer);
      expect(log).toMatchObject({ ...untruncated, status_code: 422, error_code: 'upstream_error' });
      expect(request.body).toEqual(way.talk.body(way.stream));
      expect(response).toEqual({
        body: { error: { code: 'upstream_error', message: 'No, see https://up.example/help?[REDACTED]' } },
      });
    },
  );

  it.each(talks.map((talk) => [talk.operation, talk] as const))(
    'has the events that the client received, and the error, if the stream breaks (%s)',
    async (_, talk) => {
      const { begin, piece } = talk.upstream;
      const answer = await ask(talk, streamed(begin + piece + piece, { ending: { kind: 'break' } }));
      const { response, log } = await kept(answer);
      const events = payloadsOf(answer).slice(0, -1);
      expect(log).toMatchObject({ ...untruncated, status_code: 502 });
      expect(response).toEqual({
        stream: true,
        events,
        usage: null,
        error: { code: 'upstream_error', message: expect.stringMatching(/\S/) },
      });
      expect(JSON.stringify(events)).toContain('piece');
    },
  );

  it.each(everywhere)(
    'has the request and the error if a budget rejects it before the provider (%s)',
    async (_, way) => {
      const answer = await asked(way, { key: keys.poor });
      expect(answer.status).toBe(429);
      expect(answer.upstream).toBeUndefined();
      const { request, response, log } = await kept(answer);
      expect(log).toMatchObject({ ...untruncated, status_code: 429, error_code: 'budget_exceeded' });
      expect(request.body).toEqual(way.talk.body(way.stream));
      expect(response).toEqual({ body: { error: { code: 'budget_exceeded', message: expect.any(String) } } });
    },
  );

  it.each<[string, string, object | null]>([
    ['incomplete JSON', '{"model": "fast", "messages": [', null],
    ['not an object', '["fast"]', ['fast'] as object],
    ['a repeated key', '{"model":"fast","model":"other","messages":[]}', { model: 'other', messages: [] }],
    ['a field of the wrong type', '{"model":"fast","messages":"Hi"}', { model: 'fast', messages: 'Hi' }],
    ['no model', '{"messages":[]}', { messages: [] }],
    ['an unknown model', '{"model":"nowhere","messages":[]}', { model: 'nowhere', messages: [] }],
    ['empty', '', null],
  ])('has the parsed body and the error if the body is invalid: %s', async (_, text, body) => {
    const answer = await ask(chat, whole('{}'), { spelled: () => text });
    expect([400, 404]).toContain(answer.status);
    const { request, response, log } = await kept(answer);
    expect(log).toMatchObject({ ...untruncated, status_code: answer.status });
    expect(request.body).toEqual(body);
    const { error } = JSON.parse(answer.text);
    expect(response).toEqual({
      body: {
        error: {
          code: error.code,
          message: error.message,
          ...(error.param === null ? {} : { param: error.param }),
        },
      },
    });
  });

  it('does not exist without a valid key, and there is no summary row', async () => {
    const answer = await ask(chat, whole('{}'), { key: undefined });
    const invalid = await ask(chat, whole('{}'), { key: aKey() });
    await nothingMoreComes();
    expect([answer.status, invalid.status]).toEqual([401, 401]);
    expect([...(await rowsOf(answer)), ...(await rowsOf(invalid))]).toEqual([]);
  });

  it('has the events up to a client disconnect, and `client_closed`', async () => {
    const { begin, piece } = chat.upstream;
    const told = begin + piece.repeat(3);
    const { requestId, response } = await open(chat, streamed(told, { ending: { kind: 'hang' } }));
    const reader = response.body!.getReader();
    let text = '';
    while (text.length < told.length) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`the stream ended after ${text}`);
      text += Buffer.from(value).toString();
    }
    await reader.cancel();
    const stored = await kept({ requestId });
    expect(stored.log).toMatchObject({ ...untruncated, status_code: 499, error_code: 'client_closed' });
    expect(stored.response).toEqual({
      stream: true,
      events: payloadsOf({ events: eventsIn(told) }),
      usage: null,
      error: { code: 'client_closed', message: expect.any(String) },
    });
  });
});

describe('two requests', () => {
  it('with the same `x-request-id` each have a payload row, but share one ledger row', async () => {
    await reload({});
    const first = await asked({ talk: chat, stream: false });
    const again = { headers: { 'x-request-id': first.requestId }, body: { user: 'again' } };
    await ask(chat, whole(chat.upstream.whole), { stream: false, ...again });
    await kept(await asked({ talk: chat, stream: false }));
    const rows = await query<Loose>(
      `select p.request_json, l.has_payload from request_logs l
       join request_log_payloads p using (request_log_id, ownership_scope_key) where l.request_id = $1 order by l.occurred_at`,
      [first.requestId],
    );
    expect(rows).toEqual([
      { has_payload: true, request_json: expect.objectContaining({ body: chat.body(false) }) },
      {
        has_payload: true,
        request_json: expect.objectContaining({ body: { ...chat.body(false), user: 'again' } }),
      },
    ]);
    const ledger = await query('select from usage_cost_events where request_id = $1', [first.requestId]);
    expect(ledger).toHaveLength(1);
  });
});
