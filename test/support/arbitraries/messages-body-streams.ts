import * as fc from 'fast-check';
import { stopReasons } from '../messages-grammar.ts';
import { eventStreamSoup } from './event-streams.ts';
import { anId, anObjectText } from './messages.ts';

/** One event of a messages stream, as an upstream sends it. */
export interface WireEvent {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The meaning of a messages stream, apart from its events. */
export interface MeantMessage {
  readonly text: string;
  readonly thinking: string;
  /** Signatures of thinking blocks, in order. */
  readonly signatures: readonly string[];
  readonly redacted: readonly string[];
  /** Calls of the caller's own tools. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly text: string }[];
  /** Types of the blocks that chat cannot express. */
  readonly foreign: readonly string[];
  readonly stopReason: string;
  readonly usage: { readonly prompt: number; readonly completion: number };
  readonly events: readonly WireEvent[];
  readonly bytes: Buffer;
}

interface Block {
  readonly start: object;
  readonly deltas: readonly object[];
  readonly means: Partial<MeantMessage>;
}

const words = fc.string({ unit: 'grapheme', maxLength: 12 });

/** The pieces of a text, split anywhere; sometimes with empty pieces. */
const piecesOf = (text: string): fc.Arbitrary<readonly string[]> =>
  fc
    .array(fc.nat(text.length), { maxLength: 4 })
    .map((cuts) => [0, ...cuts.sort((a, b) => a - b), text.length])
    .map((edges) => edges.slice(1).map((edge, index) => text.slice(edges[index], edge)));

const textBlock: fc.Arbitrary<Block> = words.chain((text) =>
  piecesOf(text).map((pieces) => ({
    start: { type: 'text', text: '' },
    deltas: pieces.map((piece) => ({ type: 'text_delta', text: piece })),
    means: { text },
  })),
);

const thinkingBlock: fc.Arbitrary<Block> = fc
  .tuple(words, fc.base64String({ maxLength: 8 }))
  .chain(([thinking, end]) =>
    piecesOf(thinking).map((pieces) => ({
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...pieces.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        { type: 'signature_delta', signature: `s${end}` },
      ],
      means: { thinking, signatures: [`s${end}`] },
    })),
  );

const redactedBlock: fc.Arbitrary<Block> = fc.base64String({ minLength: 4, maxLength: 8 }).map((data) => ({
  start: { type: 'redacted_thinking', data },
  deltas: [],
  means: { redacted: [data] },
}));

const toolBlock: fc.Arbitrary<Block> = fc
  .tuple(anId, fc.stringMatching(/^[a-z_]{1,9}$/), fc.oneof(anObjectText, fc.constant('')))
  .chain(([id, name, text]) =>
    piecesOf(text).map((pieces) => ({
      start: { type: 'tool_use', id, name, input: {} },
      deltas: ['', ...pieces].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      means: { calls: [{ id, name, text: text === '' ? '{}' : text }] },
    })),
  );

const foreignBlock: fc.Arbitrary<Block> = fc
  .constantFrom(
    'server_tool_use',
    'web_search_tool_result',
    'compaction',
    'fallback',
    'mcp_tool_use',
    'novelty',
  )
  .map((type) => ({
    start: { type, id: 'srvtoolu_1', name: 'web_search', text: 'FOREIGN', input: {} },
    deltas: [
      { type: 'input_json_delta', partial_json: '{"q":"FOREIGN"}' },
      { type: 'compaction_delta', content: 'FOREIGN' },
      { type: 'text_delta', text: 'FOREIGN' },
    ],
    means: { foreign: [type] },
  }));

const aBlock = fc.oneof(textBlock, thinkingBlock, redactedBlock, toolBlock, foreignBlock);

const anOrder = fc.constantFrom<readonly [eol: string, nameFirst: boolean]>(
  ['\n', true],
  ['\r\n', true],
  ['\n', false],
);

const noise = fc.constantFrom<readonly WireEvent[]>(
  [],
  [],
  [],
  [{ type: 'ping', bytes: Buffer.from('event: ping\ndata: {"type": "ping"}\n\n') }],
  [{ type: 'vertex_event', bytes: Buffer.from('event: vertex_event\ndata: {"type":"vertex_event"}\n\n') }],
  [{ type: 'vertex_event', bytes: Buffer.from('data: {"type":"vertex_event"}\n\n') }],
);

const usageAt = (output: number) => ({ output_tokens: output });

/**
 * A well-formed messages stream: any consecutive blocks, with pings and the platform's own events in between.
 */
export const aMessage: fc.Arbitrary<MeantMessage> = fc
  .record({
    blocks: fc.array(aBlock, { maxLength: 6 }),
    stopReason: fc.constantFrom(...stopReasons, 'novelty'),
    start: fc.record({ input: fc.nat(999), read: fc.nat(99), write: fc.nat(99) }),
    later: fc.option(fc.record({ input: fc.nat(9999), read: fc.nat(99), write: fc.nat(99) })),
    output: fc.nat(999),
    order: anOrder,
    padding: fc.constantFrom('', '   '),
    noises: fc.array(noise, { minLength: 40, maxLength: 40 }),
  })
  .map(({ blocks, stopReason, start, later, output, order: [eol, nameFirst], padding, noises }) => {
    const event = (payload: { readonly type: string; readonly [key: string]: unknown }): WireEvent => {
      const data = `data: ${JSON.stringify(payload).slice(0, -1)}${padding}}${eol}`;
      const name = `event: ${payload.type}${eol}`;
      return { type: payload.type, bytes: Buffer.from((nameFirst ? name + data : data + name) + eol) };
    };
    const counts = (parts: typeof start) => ({
      input_tokens: parts.input,
      cache_read_input_tokens: parts.read,
      cache_creation_input_tokens: parts.write,
    });
    const told = [
      event({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { ...counts(start), ...usageAt(1) },
        },
      }),
      ...blocks.flatMap(({ start: content_block, deltas }, index) => [
        event({ type: 'content_block_start', index, content_block }),
        ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
        event({ type: 'content_block_stop', index }),
      ]),
      event({
        type: 'message_delta',
        delta: { stop_reason: stopReason, stop_sequence: null },
        usage: { ...(later === null ? {} : counts(later)), ...usageAt(output) },
      }),
    ];
    const events = [
      ...told.flatMap((each, index) => [...(noises[index % noises.length] ?? []), each]),
      event({ type: 'message_stop' }),
    ];
    const meant = blocks.map(({ means }) => means);
    const parts = later ?? start;
    return {
      text: meant.map(({ text }) => text ?? '').join(''),
      thinking: meant.map(({ thinking }) => thinking ?? '').join(''),
      signatures: meant.flatMap(({ signatures }) => signatures ?? []),
      redacted: meant.flatMap(({ redacted }) => redacted ?? []),
      calls: meant.flatMap(({ calls }) => calls ?? []),
      foreign: meant.flatMap(({ foreign }) => foreign ?? []),
      stopReason,
      usage: { prompt: parts.input + parts.read + parts.write, completion: output },
      events,
      bytes: Buffer.concat(events.map(({ bytes }) => bytes)),
    };
  });

const oddity = fc.constantFrom(
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded hunter2"}}\n\n',
  'data: {"type":"error","error":{"message":"m"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_\n\n',
  'data: [1]\n\n',
  'data: [DONE]\n\n',
  'data: null\n\n',
  ': comment\n\n',
  'event: novelty\ndata: {"type":"novelty","index":0}\n\n',
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}\n\n',
  'event: content_block_start\ndata: {"type":"content_block_start","content_block":7}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"{"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}\n\n',
  'event: content_block_stop\ndata: {"type":"content_block_stop"}\n\n',
  'event: message_delta\ndata: {"type":"message_delta","delta":null,"usage":{"output_tokens":-1}}\n\n',
  'event: message_start\ndata: {"type":"message_start","message":null}\n\n',
);

/** Streams that exercise a machine: well-formed ones, and ones with missing, repeated or odd events. */
export const messagesStreams: fc.Arbitrary<Buffer> = fc.oneof(
  aMessage.map(({ bytes }) => bytes),
  fc
    .tuple(aMessage, fc.array(fc.tuple(fc.nat(60), fc.option(oddity)), { maxLength: 3 }))
    .map(([{ events }, changes]) => {
      const pieces = events.map(({ bytes }) => bytes);
      for (const [at, odd] of changes)
        pieces.splice(
          at % (pieces.length + 1),
          odd === null ? 1 : 0,
          ...(odd === null ? [] : [Buffer.from(odd)]),
        );
      return Buffer.concat(pieces);
    }),
  eventStreamSoup,
);
