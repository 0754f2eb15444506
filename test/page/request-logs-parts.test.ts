import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { saidOf } from '../../interfaces/admin-page/src/pages/request-log/conversation.ts';
import { curlOf } from '../../interfaces/admin-page/src/pages/request-log/curl.ts';
import { memberText, prettyJson } from '../../interfaces/admin-page/src/pages/request-log/json-text.ts';
import { countMarks, markedParts } from '../../interfaces/admin-page/src/pages/request-log/marks.ts';
import { maxFound, placesOf } from '../../interfaces/admin-page/src/pages/request-log/search-text.ts';
import { instantsOf, rangeOf } from '../../interfaces/admin-page/src/pages/request-logs/ranges.ts';
import { fieldOfInstant, instantOfField } from '../../interfaces/admin-page/src/ui/instants.ts';
import {
  chipTitles,
  requestQuery,
} from '../../interfaces/admin-page/src/pages/request-logs/request-filters.ts';
import {
  readViews,
  withoutView,
  withView,
} from '../../interfaces/admin-page/src/pages/request-logs/saved-views.ts';

const families = ['chat_completions', 'messages', 'responses', 'embeddings'] as const;
const pieces = (operation: string, request: unknown, response: unknown) =>
  saidOf(operation, { body: request }, response)?.turns.map(({ role, pieces }) => [role, ...pieces]);

describe('the conversation of a stored payload', () => {
  it('has the reasoning from `provider_metadata`, non-streamed and streamed', () => {
    const kept = (reasoning: readonly object[]) => ({
      provider_metadata: { cloud_b_platform: { reasoning } },
    });
    const said = ['assistant', { kind: 'reasoning', text: 'Hm, well' }, { kind: 'text', text: 'Yes' }];
    const whole = [{ type: 'thinking', thinking: 'Hm, well', signature: 's' }, { type: 'redacted_thinking' }];
    const message = { role: 'assistant', content: 'Yes', ...kept(whole) };
    expect(pieces('chat_completions', {}, { body: { choices: [{ message }] } })).toEqual([said]);
    const deltas = [
      kept([{ index: 0, text: 'Hm, ' }]),
      kept([{ index: 0, text: 'well' }]),
      kept([{ index: 0, signature: 's' }]),
      { content: 'Yes' },
    ];
    const events = deltas.map((delta) => ({ choices: [{ index: 0, delta }] }));
    expect(pieces('chat_completions', {}, { stream: true, events })).toEqual([said]);
  });

  it('has text, media, reasoning and tools of a chat, and a tool result at its call if the call is known', () => {
    const request = {
      tools: [{ type: 'function', function: { name: 'look' } }],
      messages: [
        { role: 'system', content: 'Be brief' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image_url', image_url: { url: 'https://x/y.png' } },
          ],
        },
        { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'look', arguments: '{"a":1}' } }] },
        { role: 'tool', tool_call_id: 'c1', content: 'found' },
        { role: 'tool', tool_call_id: 'gone', content: 'of no call' },
      ],
    };
    const response = {
      body: { choices: [{ message: { role: 'assistant', reasoning_content: 'Hm', content: 'Yes' } }] },
    };
    expect(saidOf('chat_completions', { body: request }, response)?.tools).toEqual(['look']);
    expect(pieces('chat_completions', request, response)).toEqual([
      ['system', { kind: 'text', text: 'Be brief' }],
      ['user', { kind: 'text', text: 'See' }, { kind: 'media', what: 'image_url', text: 'https://x/y.png' }],
      [
        'assistant',
        {
          kind: 'call',
          id: 'c1',
          name: 'look',
          args: '{"a":1}',
          result: { kind: 'result', callId: 'c1', text: 'found', failed: false },
        },
      ],
      ['tool', { kind: 'result', callId: 'gone', text: 'of no call', failed: false }],
      ['assistant', { kind: 'reasoning', text: 'Hm' }, { kind: 'text', text: 'Yes' }],
    ]);
  });

  it('is assembled from the deltas of a chat stream, complete or truncated, followed by its error', () => {
    const delta = (fields: object) => ({ choices: [{ index: 0, delta: fields }] });
    const events = [
      delta({ role: 'assistant', content: 'He' }),
      delta({ content: 'llo' }),
      delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '{"a"' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    ];
    const said = [
      'assistant',
      { kind: 'text', text: 'Hello' },
      { kind: 'call', id: 'c', name: 'look', args: '{"a":1}' },
    ];
    const ending = [
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
    ];
    const streamed = { stream: true, events: [...events, ...ending] };
    expect(pieces('chat_completions', {}, streamed)).toEqual([said]);
    const truncated = { stream: true, events: [...events, '[TRUNCATED 7 items]'] };
    expect(pieces('chat_completions', {}, { ...truncated, error: { message: 'It broke' } })).toEqual([
      said,
      ['error', { kind: 'text', text: 'It broke' }],
    ]);
  });

  it('is read from a Messages request and its answers, non-streamed and streamed', () => {
    const request = {
      system: 'Be brief',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: { a: 1 } }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', content: 'no', is_error: true }],
        },
      ],
    };
    const events = [
      { type: 'message_start', message: {} },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Yes' } },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'u', name: 'go', input: {} },
      },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"b":' } },
    ];
    expect(pieces('messages', request, { stream: true, events })).toEqual([
      ['system', { kind: 'text', text: 'Be brief' }],
      ['user', { kind: 'text', text: 'Hi' }],
      [
        'assistant',
        {
          kind: 'call',
          id: 't',
          name: 'look',
          args: '{\n  "a": 1\n}',
          result: { kind: 'result', callId: 't', text: 'no', failed: true },
        },
      ],
      [
        'assistant',
        { kind: 'reasoning', text: 'Hm' },
        { kind: 'text', text: 'Yes' },
        { kind: 'call', id: 'u', name: 'go', args: '{"b":' },
      ],
    ]);
    expect(pieces('messages', {}, { body: { content: [{ type: 'text', text: 'Whole' }] } })).toEqual([
      ['assistant', { kind: 'text', text: 'Whole' }],
    ]);
  });

  it('is read from a Responses request and its answers, non-streamed, streamed and truncated', () => {
    const request = {
      instructions: 'Be brief',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'found' },
      ],
    };
    const events = [
      { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', summary: [] } },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'reasoning', summary: [{ text: 'Hm' }] },
      },
      { type: 'response.output_item.added', output_index: 1, item: { type: 'message', role: 'assistant' } },
      { type: 'response.output_text.delta', output_index: 1, delta: 'Ye' },
      { type: 'response.output_text.delta', output_index: 1, delta: 's' },
    ];
    const asked = [
      ['system', { kind: 'text', text: 'Be brief' }],
      ['user', { kind: 'text', text: 'Hi' }],
      [
        'assistant',
        {
          kind: 'call',
          id: 'c',
          name: 'look',
          args: '{}',
          result: { kind: 'result', callId: 'c', text: 'found', failed: false },
        },
      ],
    ];
    const said = ['assistant', { kind: 'reasoning', text: 'Hm' }, { kind: 'text', text: 'Yes' }];
    expect(pieces('responses', request, { stream: true, events })).toEqual([...asked, said]);
    const output = [
      { type: 'reasoning', summary: [{ text: 'Hm' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes' }] },
      { type: 'function_call', call_id: 'd', name: 'go', arguments: '{"b":1}' },
    ];
    const answer = [...said, { kind: 'call', id: 'd', name: 'go', args: '{"b":1}' }];
    expect(pieces('responses', request, { body: { output } })).toEqual([...asked, answer]);
    const done = output.map((item, index) => ({
      type: 'response.output_item.done',
      output_index: index,
      item,
    }));
    const completed = [...events, ...done, { type: 'response.completed', response: { output } }];
    expect(pieces('responses', request, { stream: true, events: completed })).toEqual([...asked, answer]);
  });

  it('has the input texts of an embeddings request, and the length and first numbers of each vector', () => {
    const response = { body: { data: [{ embedding: [0.5, 1, 2, 3, 4, '[TRUNCATED 3 items]'] }] } };
    expect(pieces('embeddings', { input: ['a', 'b'] }, response)).toEqual([
      ['user', { kind: 'text', text: 'a' }, { kind: 'text', text: 'b' }],
      [
        'assistant',
        {
          kind: 'other',
          what: 'vector',
          text: '5 numbers and [TRUNCATED 3 items]: 0.5, 1, 2, 3, …',
        },
      ],
    ]);
  });

  it('never throws for any stored JSON, and is undefined for a null payload or an unknown family', () => {
    const words = [
      'messages',
      'role',
      'content',
      'type',
      'text',
      'tool_calls',
      'choices',
      'delta',
      'index',
      'input',
      'output',
      'events',
      'stream',
      'body',
      'error',
      'item',
      'data',
      'embedding',
      'tools',
      'function',
      '__proto__',
    ];
    const anything = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom(...words, '[REDACTED]', '[TRUNCATED 2 items]'),
        fc.constantFrom(null, true, 1, -1, 1e300),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom(...words), tie('value'), { maxKeys: 6 }),
      ),
    })).value;
    fc.assert(
      fc.property(fc.constantFrom(...families, 'toString', undefined), anything, anything, (family, a, b) => {
        saidOf(family, a, b);
        saidOf(family, { body: a }, { stream: true, events: b });
        saidOf(family, { body: { messages: a, input: a, tools: a } }, { body: b });
      }),
    );
    expect(saidOf('chat_completions', null, undefined)).toBeUndefined();
    expect(saidOf('later_family', { body: {} }, null)).toBeUndefined();
  });
});

describe('marks in a text', () => {
  it('are separated from the text around them, with their reason, and are counted', () => {
    expect(markedParts('key [REDACTED], data:,[TRUNCATED 40 characters]')).toEqual([
      { kind: 'words', text: 'key ' },
      { kind: 'redacted', text: '[REDACTED]', reason: expect.stringContaining('credential') },
      { kind: 'words', text: ', data:,' },
      { kind: 'truncated', text: '[TRUNCATED 40 characters]', reason: expect.stringContaining('byte limit') },
    ]);
    expect(markedParts('[TRUNCATED: nested too deeply]')[0]).toMatchObject({
      reason: expect.stringContaining('deeply'),
    });
    expect(markedParts('[REDACTION] [TRUNCATED')).toEqual([
      { kind: 'words', text: '[REDACTION] [TRUNCATED' },
    ]);
    expect(countMarks('[REDACTED][REDACTED][TRUNCATED]')).toEqual({ redacted: 2, truncated: 1 });
  });
});

describe('stored JSON as text', () => {
  const text =
    '{"2": 9007199254740993, "1":0.10,"a":{"body":"}"},"body": {"b\\"": [1, {}], "c": []} ,"z":"\\u00e9"}';

  it('returns a member exactly as written, or undefined if there is none', () => {
    expect(memberText(text, 'body')).toBe(' {"b\\"": [1, {}], "c": []}');
    expect(memberText(text, 'z')).toBe('"\\u00e9"');
    expect(memberText(text, 'none')).toBeUndefined();
    expect(memberText('[1]', 'a')).toBeUndefined();
    expect(memberText('', 'a')).toBeUndefined();
  });

  it('is formatted with one line per member, and keeps digits, escapes and the order of keys', () => {
    expect(prettyJson(text).split('\n')).toEqual([
      '{',
      '  "2": 9007199254740993,',
      '  "1": 0.10,',
      '  "a": {',
      '    "body": "}"',
      '  },',
      '  "body": {',
      '    "b\\"": [',
      '      1,',
      '      {}',
      '    ],',
      '    "c": []',
      '  },',
      '  "z": "\\u00e9"',
      '}',
    ]);
  });

  it('parses to the same value after it is formatted', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const written = JSON.stringify(value);
        expect(JSON.parse(prettyJson(written))).toEqual(JSON.parse(written));
      }),
    );
  });

  it('is searched case-insensitively, with at most `maxFound` places, and none for an empty query', () => {
    expect(placesOf('aXbxX', 'x')).toEqual([1, 3, 4]);
    expect(placesOf('İstanbul x', 'x')).toEqual([9]);
    expect(placesOf('aaa', '')).toEqual([]);
    expect(placesOf('a'.repeat(maxFound + 5), 'A')).toHaveLength(maxFound);
  });
});

describe('a request as a curl command', () => {
  const stored = `{"headers":{"x-api-key":"[REDACTED]","host":"h","x-gateway-env":"it's","anthropic-version":"1"},"body":{"n":9007199254740993,"t":"don't"}}`;

  it('has the exact stored body and its gateway and version headers, but no key', () => {
    expect(
      curlOf({ origin: 'https://g', operation: 'messages', stream: true, requestText: stored })?.split('\n'),
    ).toEqual([
      "curl -sSN 'https://g/v1/messages' \\",
      '  -H "authorization: Bearer $GATEWAY_API_KEY" \\',
      "  -H 'content-type: application/json' \\",
      String.raw`  -H 'x-gateway-env: it'\''s' ` + '\\',
      "  -H 'anthropic-version: 1' \\",
      String.raw`  --data-raw '{"n":9007199254740993,"t":"don'\''t"}'`,
    ]);
  });

  it('is undefined without a stored body or for an unknown family', () => {
    const ask = { origin: 'https://g', operation: 'messages', stream: false, requestText: '{"body":null}' };
    expect(curlOf(ask)).toBeUndefined();
    expect(curlOf({ ...ask, requestText: undefined })).toBeUndefined();
    expect(curlOf({ ...ask, requestText: stored, operation: 'toString' })).toBeUndefined();
  });
});

describe('the filters in the address', () => {
  const now = Date.UTC(2026, 0, 31, 12);

  it('have a range relative to now or explicit instants, and an unknown `range` throws', () => {
    expect([rangeOf({}), rangeOf({ range: '7d' }), rangeOf({ range: 'x' })]).toEqual(['all', '7d', 'all']);
    expect(rangeOf({ range: '7d', from: '2026-01-01T00:00:00Z' })).toBe('custom');
    expect(instantsOf({ range: '24h' }, now)).toEqual({ from: '2026-01-30T12:00:00.000Z' });
    expect(instantsOf({ range: '1h', to: '2026-01-01T00:00:00Z' }, now)).toEqual({
      to: '2026-01-01T00:00:00Z',
    });
    expect(instantsOf({}, now)).toEqual({});
    expect(() => instantsOf({ range: 'x' }, now)).toThrow('`range` must be one of 1h, 24h, 7d, 30d, custom.');
  });

  it('convert date-time fields to and from UTC instants, and drop invalid values', () => {
    expect(instantOfField('2026-01-31T12:30')).toBe('2026-01-31T12:30:00Z');
    expect([instantOfField(''), instantOfField('2026-02-31'), instantOfField('2026-13-01T00:00')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(fieldOfInstant('2026-01-31T12:30:05Z')).toBe('2026-01-31T12:30:05');
    expect(fieldOfInstant('2026-01-31T12:30:00.000Z')).toBe('2026-01-31T12:30');
    expect([fieldOfInstant('soon'), fieldOfInstant(undefined)]).toEqual(['', '']);
  });

  it('become a query with every filter and its exclusion', () => {
    const texts = [
      'model_key',
      'provider_key',
      'error_code',
      'user_id',
      'team_id',
      'service_account_id',
      'api_key_id',
      'service',
      'component',
      'env',
      'agent_harness_key',
    ].flatMap((name) => [
      [name, `a ${name}`],
      [`not_${name}`, `no ${name}`],
    ]);
    const asTyped = Object.fromEntries([
      ...texts,
      ['request_id', 'r'],
      ['request_id_sha256', 'ab'],
      ['pricing_status', 'usage_missing'],
      ['owner_kind', 'team'],
      ['tag_key', 'customer'],
      ['tag_value', 'acme'],
    ]);
    const converted = { status_code: '502', not_status_code: '404', failed: 'true', in_ledger: 'false' };
    const filters = { ...asTyped, ...converted };
    expect(Object.keys(filters).toSorted()).toEqual(Object.keys(chipTitles).toSorted());
    expect(
      requestQuery({ ...filters, from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }, now),
    ).toEqual({
      ...asTyped,
      status_code: 502,
      not_status_code: 404,
      failed: true,
      in_ledger: false,
      from: '2026-01-01T00:00:00Z',
      to: '2026-01-02T00:00:00Z',
    });
  });

  it('become a query without incomplete tags and other parameters, and an invalid `failed` throws', () => {
    const filters = {
      model_key: 'fast',
      tag_key: 'customer',
      status_code: '502',
      open: 'x',
      page: '2',
      live: 'on',
    };
    expect(requestQuery(filters, now)).toEqual({ model_key: 'fast', status_code: 502 });
    expect(requestQuery({ tag_value: 'acme' }, now)).toEqual({});
    expect(requestQuery({ tag_key: 'a', tag_value: 'b', status_code: 'ok' }, now)).toEqual({
      tag_key: 'a',
      tag_value: 'b',
      status_code: 0,
    });
    expect([requestQuery({ failed: 'true' }, now), requestQuery({ failed: 'false' }, now)]).toEqual([
      { failed: true },
      { failed: false },
    ]);
    expect(() => requestQuery({ failed: 'yes' }, now)).toThrow('`failed` must be one of true, false.');
  });
});

const maxViews = 30;

describe('saved views', () => {
  const viewsOf = (kept: string | null) => readViews({ getItem: () => kept });

  it('are read from storage, and invalid views and filter values are skipped', () => {
    const view = { name: 'a', filters: { model_key: 'fast' } };
    expect(viewsOf(JSON.stringify([view, 1, null, { name: 'b' }, { name: 1, filters: {} }]))).toEqual([view]);
    expect([viewsOf(null), viewsOf('{'), viewsOf('{}')]).toEqual([[], [], []]);
    expect(viewsOf('[{"name":"a","filters":{"x":1,"y":"z"}}]')).toEqual([{ name: 'a', filters: { y: 'z' } }]);
  });

  it('replace a view with the same name, are limited to 30, and can be removed', () => {
    const a = { name: 'a', filters: { env: 'x' } };
    expect(withView([a], { name: 'a', filters: { env: 'y' } })).toEqual([
      { name: 'a', filters: { env: 'y' } },
    ]);
    const many = Array.from({ length: maxViews }, (_, n) => ({ name: `v${n}`, filters: {} }));
    expect(withView(many, a)).toHaveLength(maxViews);
    expect(withView(many, a).at(-1)).toBe(a);
    expect(withoutView([a], 'a')).toEqual([]);
  });
});
