import { describe, expect, it } from '@jest/globals';
import {
  eventFrame,
  exceptionFrame,
  errorFrame,
  frame,
  rawFrame,
  textHeader,
} from '../support/event-stream-frames.ts';
import { basicConfig, type ConfigFile } from '../support/gateway.ts';
import type { Cuts, Replay, ReplayEnding } from '../support/replay-upstream.ts';
import {
  type Answer,
  expectCompleteStream,
  expectFailedStream,
  expectRefused,
  json,
  payloadsOf,
  priced,
  scene,
  textOf,
} from './scene.ts';
import { chat, messages, responses, type Talk } from './talk.ts';

/** How one platform streams a response to the clients of one family. */
interface Stream {
  readonly name: string;
  readonly talk: Talk;
  readonly model: string;
  readonly contentType: string;
  /** Two pieces of text, and the frames before them. */
  readonly told: readonly Buffer[];
  /** The frames that complete the response: the stop first, then those after it. */
  readonly end: readonly Buffer[];
  /** The platform's own error frame with this message. */
  readonly failure: (message: string) => Buffer;
  /** The platform's code for that error, if it has one. */
  readonly failureCode?: string;
  /** Malformed frames, by their fault. */
  readonly malformed: Readonly<Record<string, Buffer>>;
  /** Whether the stop completes the response; if not, only the last frame does. */
  readonly completeWithStop: boolean;
}

const serverSent = 'text/event-stream';
const binary = 'application/vnd.amazon.eventstream';

const data = (text: string): Buffer => Buffer.from(`data: ${text}\n\n`);
const named = (type: string, members: object): Buffer =>
  Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);

const notJson = {
  'incomplete JSON': data('{"choices":[{"index":0,'),
  'not an object': data('[1]'),
};
/** Deep nesting is refused only in frames that are translated; others pass unchanged, and are not checked. */
const untranslatable = {
  ...notJson,
  'an object that is nested too deeply': data(`${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`),
};

/** Platform A, Google's own models: lines end with CR LF, every event has usage, no event ends the stream. */
const generated = (parts: object, finishReason?: string): Buffer => {
  const usage = {
    promptTokenCount: 10,
    candidatesTokenCount: 15,
    thoughtsTokenCount: 5,
    totalTokenCount: 30,
  };
  const candidate = {
    content: { role: 'model', parts: [parts] },
    ...(finishReason === undefined ? {} : { finishReason }),
  };
  return Buffer.from(`data: ${JSON.stringify({ candidates: [candidate], usageMetadata: usage })}\r\n\r\n`);
};
const generateContent = {
  contentType: serverSent,
  told: [
    generated({ text: 'Hm.', thought: true }),
    generated({ text: 'piece' }),
    generated({ text: 'piece' }),
  ],
  end: [generated({ text: '' }, 'STOP')],
  failure: (message: string) => data(JSON.stringify({ error: { code: 500, message, status: 'INTERNAL' } })),
  failureCode: 'INTERNAL',
  malformed: untranslatable,
  completeWithStop: true,
};

/** The messages API; platform A adds events of its own to the stream. */
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 4, cache_read_input_tokens: 6, cache_creation_input_tokens: 0, output_tokens: 0 },
};
const piece = named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'piece' } });
const messagesBody = {
  contentType: serverSent,
  told: [
    named('vertex_event', {}),
    named('message_start', { message }),
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    piece,
    named('ping', {}),
    piece,
    named('content_block_stop', { index: 0 }),
  ],
  end: [
    named('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { ...message.usage, output_tokens: 20 },
    }),
    named('message_stop', {}),
  ],
  failure: (words: string) => named('error', { error: { type: 'overloaded_error', message: words } }),
  malformed: untranslatable,
};

/** Platform B, converse: binary frames, and the usage after the stop. */
const pieceFrame = eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'piece' } });
const eventHeaders = (type: string) => [
  textHeader(':event-type', type),
  textHeader(':content-type', 'application/json'),
  textHeader(':message-type', 'event'),
];
const converse = {
  contentType: binary,
  told: [eventFrame('messageStart', { role: 'assistant' }), pieceFrame, pieceFrame],
  end: [
    eventFrame('messageStop', { stopReason: 'end_turn' }),
    eventFrame('metadata', {
      usage: { inputTokens: 10, outputTokens: 20, totalTokens: 30 },
      metrics: { latencyMs: 1 },
    }),
  ],
  failure: (words: string) => exceptionFrame('modelStreamErrorException', { message: words }),
  failureCode: 'modelStreamErrorException',
  malformed: {
    'incomplete JSON': frame(eventHeaders('contentBlockDelta'), Buffer.from('{"contentBlockIndex":0,')),
    'not an object': frame(eventHeaders('contentBlockDelta'), Buffer.from('[1]')),
    'not UTF-8': frame(eventHeaders('contentBlockDelta'), Buffer.from('7b2261223a22ff227d', 'hex')),
    'an event without a type': frame([textHeader(':message-type', 'event')], Buffer.from('{}')),
    'no message type': frame([textHeader(':event-type', 'contentBlockDelta')], Buffer.from('{}')),
    'an unknown message type': frame([textHeader(':message-type', 'rumour')], Buffer.from('{}')),
    'arguments of a call that was not started': eventFrame('contentBlockDelta', {
      contentBlockIndex: 4,
      delta: { toolUse: { input: '{}' } },
    }),
    'headers longer than their frame': rawFrame(Buffer.alloc(0), Buffer.from('{}'), {
      headers: 400,
    }),
    'a frame below the minimum length': rawFrame(Buffer.alloc(0), Buffer.alloc(0), { total: 15 }),
    'a frame above the maximum length': rawFrame(Buffer.alloc(0), Buffer.alloc(0), {
      total: 2 ** 32 - 1,
    }),
    'an incomplete header': frame(
      [{ name: Buffer.from(':event-type'), type: 7, value: Buffer.from([0, 200, 65]) }],
      Buffer.from('{}'),
    ),
  },
  completeWithStop: true,
};

/** Chat style and responses: their standard formats. */
const { upstream: chatSaid } = chat;
const chatStyle = {
  contentType: serverSent,
  told: [chatSaid.begin, chatSaid.piece, chatSaid.piece].map((text) => Buffer.from(text)),
  end: [chatSaid.finish, chatSaid.usage, chatSaid.done].map((text) => Buffer.from(text)),
  failure: (words: string) => data(JSON.stringify({ error: { message: words } })),
  malformed: notJson,
  completeWithStop: true,
};
/** The endpointb host writes the name of an event after its data. */
const dataFirst = (text: string): Buffer =>
  Buffer.from(text.replaceAll(/(event: [^\n]*\n)(data: [^\n]*\n)/g, '$2$1'));
const { upstream: responsesSaid } = responses;
const responsesStyle = {
  contentType: serverSent,
  told: [responsesSaid.begin, responsesSaid.piece, responsesSaid.piece].map(dataFirst),
  end: [dataFirst(responsesSaid.usage)],
  failure: (words: string) =>
    dataFirst(named('error', { code: 'server_error', message: words, param: null }).toString()),
  malformed: {
    ...notJson,
    'an event whose name and type disagree': Buffer.from(
      'event: response.output_text.delta\ndata: {"type":"response.completed"}\n\n',
    ),
    'an event of another protocol': data('{"object":"chat.completion.chunk","choices":[]}'),
  },
  completeWithStop: false,
};

const streams: readonly Stream[] = [
  { name: 'google/*, chat completions', talk: chat, model: 'google', ...generateContent },
  { name: 'google/*, messages', talk: messages, model: 'google', ...generateContent },
  {
    name: 'anthropic/*, chat completions',
    talk: chat,
    model: 'claude',
    ...messagesBody,
    completeWithStop: true,
  },
  {
    name: 'anthropic/*, messages',
    talk: messages,
    model: 'claude',
    ...messagesBody,
    completeWithStop: false,
  },
  { name: 'runtime_unified, chat completions', talk: chat, model: 'unified', ...converse },
  { name: 'runtime_unified, messages', talk: messages, model: 'unified', ...converse },
  { name: 'runtime_chat, chat completions', talk: chat, model: 'runtime-chat', ...chatStyle },
  { name: 'endpointb_chat, messages', talk: messages, model: 'endpointb-chat', ...chatStyle },
  {
    name: 'endpointb_messages, messages',
    talk: messages,
    model: 'endpointb-messages',
    ...messagesBody,
    completeWithStop: false,
  },
  { name: 'endpointb_responses', talk: responses, model: 'endpointb-responses', ...responsesStyle },
];

const off = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, false]));
const partial = off('responses', 'json_schema', 'embeddings');
const styled = (api_style: string, capabilities: object = partial) => ({
  capabilities,
  compatibility: {
    cloud_b: { api_style, ...(/chat|responses/.test(api_style) ? { openai_base_path: '/v1' } : {}) },
    ...(api_style.endsWith('_chat') ? { compat: { supports_stream_usage: true } } : {}),
  },
});

function config(url: string, key: string): ConfigFile {
  const { origin } = new URL(url);
  const routes = [
    { id: 'google', provider: 'a', upstream_model: 'google/gemini-2.5-pro' },
    { id: 'claude', provider: 'a', upstream_model: 'anthropic/claude-opus-4-6' },
    { id: 'unified', provider: 'b', upstream_model: 'm', ...styled('runtime_unified') },
    { id: 'runtime-chat', provider: 'b', upstream_model: 'm', ...styled('runtime_chat') },
    { id: 'endpointb-chat', provider: 'b', upstream_model: 'm', ...styled('endpointb_chat') },
    { id: 'endpointb-messages', provider: 'b', upstream_model: 'm', ...styled('endpointb_messages') },
    {
      id: 'endpointb-responses',
      provider: 'b',
      upstream_model: 'm',
      ...styled('endpointb_responses', off('chat_completions', 'embeddings')),
    },
  ];
  const price = { input_usd_per_million: '0.15', output_usd_per_million: '0.60' };
  return {
    ...basicConfig(url, key),
    providers: [
      {
        id: 'a',
        type: 'cloud_a_platform',
        project_id: 'p',
        api_host: origin,
        auth: { mode: 'bearer', token: 'a-token-of-the-platform-0123456789' },
      },
      {
        id: 'b',
        type: 'cloud_b_platform',
        region: 'us-east-1',
        runtime_endpoint_url: origin,
        endpointb_endpoint_url: origin,
        auth: {
          mode: 'static_credentials',
          access_key_id: 'AKIAEXAMPLE',
          secret_access_key: 'a-secret-access-key-0123456789',
        },
      },
    ],
    models: routes.map(({ id, ...route }) => ({ id, routes: [route] })),
    pricing: {
      overrides: [
        ...routes.slice(0, 2).map(({ upstream_model: model }) => ({ provider: 'a', model, ...price })),
        { provider: 'b', model: 'm', ...price },
      ],
    },
  };
}

const { ask } = scene(config);

const broken = 'The connection to the upstream could not be made, or it broke.';
const early = 'The upstream ended its stream before the answer was complete.';
const nonsense =
  /^The upstream (?:sent (?:a malformed event|an event that (?:is nested too deeply|contradicts itself))|answered a responses request with a chat stream)\.$/;

/** Chat requests to invoke must limit the length of the response; here all chat requests do. */
const more = ({ talk, model }: Stream) => ({
  body: { model, ...(talk === chat ? { max_completion_tokens: 64 } : {}) },
});

const play = (stream: Stream, frames: readonly Buffer[], over: Partial<Replay> = {}): Promise<Answer> =>
  ask(
    stream.talk,
    { headers: { 'content-type': stream.contentType }, body: Buffer.concat(frames), ...over },
    more(stream),
  );

/** The error message that the client receives. */
function messageIn({ talk }: Stream, answer: Answer): unknown {
  const last = payloadsOf(answer).at(-1) as {
    readonly error?: { readonly message?: unknown };
    message?: unknown;
  };
  return talk === responses ? (last.message ?? last.error?.message) : last.error?.message;
}

/**
 * One structured error, no event that completes the response, one attempt `stream_error` with the same
 * message, and no ledger row. A client of the upstream's own events may have received the stop before.
 */
function expectBroken(
  stream: Stream,
  answer: Answer,
  words: string | RegExp,
  status = 502,
  code = 'upstream_error',
): void {
  expectFailedStream(stream.talk, answer, { status, code, told: stream.talk === responses });
  expect(messageIn(stream, answer)).toEqual(expect.stringMatching(words));
  const [attempt, ...others] = answer.after.attempts;
  // The attempt also has the error code of the runtime, for operators.
  expect(String(attempt?.['error_detail']).replace(/ \([A-Z_]+\)$/, '')).toMatch(words);
  expect(others).toEqual([]);
}

/** Runs all cases at once: each is a separate request. */
const atOnce = async <A>(cases: Iterable<A>, test: (one: A) => Promise<void>): Promise<void> =>
  void (await Promise.all(Array.from(cases, test)));

const escaped = (text: string): RegExp => new RegExp(`^${text.replaceAll(/[.?()]/g, '\\$&')}$`);

describe.each(streams)('$name', (stream) => {
  const { talk, told, end, failure, malformed, completeWithStop } = stream;
  const all = [...told, ...end];

  it('delivers and prices a complete stream for every split into chunks', async () => {
    const cuts: readonly Cuts[] = [{ kind: 'whole' }, { kind: 'random', seed: 1 }, { kind: 'bytes' }];
    await atOnce(cuts, async (each) => {
      const answer = await play(stream, all, { cuts: each });
      expectCompleteStream(talk, answer, priced);
      expect(textOf(talk, answer)).toBe('piecepiece');
    });
  });

  it.each<[ReplayEnding['kind'], string]>([
    ['end', early],
    ['break', broken],
  ])('ends with an error after a premature end between frames: %s', async (kind, words) => {
    const last = completeWithStop ? told.length : all.length - 1;
    await atOnce(Array.from({ length: last + 1 }).keys(), async (count) => {
      const answer = await play(stream, all.slice(0, count), { ending: { kind } });
      if (count <= told.length) expectBroken(stream, answer, escaped(words));
      else expectOnlyUnstopped(answer);
    });
  });

  it.each<[ReplayEnding['kind'], string]>([
    ['end', early],
    ['reset', broken],
  ])('ends with an error after a premature end inside a frame: %s', async (kind, words) => {
    await atOnce(told.entries(), async ([index, cut]) => {
      const length = 1 + (index % 2) * Math.floor(cut.length / 2);
      const frames = [...told.slice(0, index), cut.subarray(0, length)];
      expectBroken(stream, await play(stream, frames, { ending: { kind } }), escaped(words));
    });
  });

  it('ends with the platform’s own error if that is sent first or in the middle', async () => {
    const words = 'The model fell over.';
    await atOnce(Array.from({ length: told.length + 1 }).keys(), async (count) => {
      const answer = await play(stream, [...told.slice(0, count), failure(words), ...end]);
      expectBroken(stream, answer, escaped(words), 502, stream.failureCode);
    });
  });

  it.each(Object.entries(malformed))('fails on a malformed frame, first or later: %s', async (_, bad) => {
    await atOnce([0, told.length - 1], async (count) => {
      const answer = await play(stream, [...told.slice(0, count), bad, ...end]);
      expectBroken(stream, answer, nonsense);
    });
  });

  const [stop = Buffer.alloc(0), ...rest] = end;

  it('after the stop, an error or a malformed frame fails the stream', async () => {
    const lates = [
      [failure('Late.'), stream.failureCode],
      [Object.values(malformed)[0]!, undefined],
    ] as const;
    await atOnce(lates, async ([late, code]) => {
      const answer = await play(stream, [...told, stop, late, ...rest]);
      if (completeWithStop || talk === responses)
        expectBroken(stream, answer, /^Late\.$|malformed/, 502, code);
      else expectOnlyUnstopped(answer);
    });
  });

  it('after the stop, a broken connection or a cut frame does not fail a complete response, unless the cut frame is binary', async () => {
    await atOnce(['end', 'break', 'reset'] as const, async (kind) => {
      const cut = (rest[0] ?? stop).subarray(0, kind === 'end' ? 9 : 0);
      const answer = await play(stream, [...told, stop, cut], { ending: { kind } });
      if (kind === 'end' && stream.contentType === binary) expectBroken(stream, answer, escaped(early));
      else if (completeWithStop || talk === responses) expectCompleteStream(talk, answer);
      else expectOnlyUnstopped(answer);
    });
  });

  it('fails if the upstream sends status 200 with a JSON error instead of a stream', async () => {
    const body = JSON.stringify({ error: { message: 'The model is not there.' } });
    const headers = { 'content-type': 'application/json' };
    const answer = await ask(talk, { headers, body }, more(stream));
    // Without `alt=sse` this platform's streams are JSON too.
    if (stream.model === 'google') return expectBroken(stream, answer, /^The model is not there\.$/);
    expectRefused(talk, answer, 502, 'stream_start_error');
    expect(json(answer.text).error.message).toBe('The model is not there.');
  });
});

/** A native response with a stop reason, and with an error in place of `message_stop`. */
function expectOnlyUnstopped({ text, events, after }: Answer): void {
  expect(text).not.toContain('message_stop');
  expect(text).not.toContain('[DONE]');
  expect(events.map(({ event }) => event).slice(-2)).toEqual(['message_delta', 'error']);
  expect(after.attempts).toEqual([expect.objectContaining({ status: 'stream_error' })]);
  expect(after.ledger).toEqual([]);
}

describe('runtime_unified', () => {
  const [stream] = streams.filter(({ model, talk }) => model === 'unified' && talk === chat) as [Stream];

  it.each([
    ['internalServerException', 502],
    ['modelStreamErrorException', 502],
    ['validationException', 400],
    ['throttlingException', 429],
    ['serviceUnavailableException', 503],
    ['modelTimeoutException', 408],
    ['anExceptionOfTomorrow', 502],
  ])('returns an exception that is sent first or in the middle: %s', async (type, status) => {
    for (const count of [0, 2]) {
      const frames = [...stream.told.slice(0, count), exceptionFrame(type, { message: 'In its words.' })];
      expectBroken(stream, await play(stream, frames), /^In its words\.$/, status, type);
    }
  });

  it('names an exception that has no message', async () => {
    const answer = await play(stream, [stream.told[0]!, exceptionFrame('throttlingException', {})]);
    const words = /^The upstream reported an error \(throttlingException\)\.$/;
    expectBroken(stream, answer, words, 429, 'throttlingException');
  });

  it('returns the message and code of an error frame', async () => {
    const answer = await play(stream, [stream.told[0]!, errorFrame('InternalError', 'Something broke.')]);
    expectBroken(stream, answer, /^Something broke\.$/, 502, 'InternalError');
  });

  it.each([
    ['of the prelude', 8],
    ['of the frame', pieceFrame.length - 4],
  ])('accepts a frame with a wrong checksum %s', async (_, offset) => {
    const spoilt = Buffer.from(pieceFrame);
    spoilt.writeUInt32BE(1, offset);
    const answer = await play(stream, [...stream.told, spoilt, ...stream.end]);
    expectCompleteStream(chat, answer, priced);
    expect(textOf(chat, answer)).toBe('piecepiecepiece');
  });
});
