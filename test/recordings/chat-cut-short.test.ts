import { describe, expect, it } from '@jest/globals';
import type { Route } from '../../domain/routing/model.ts';
import type { Ending } from '../../domain/shared/stream-machine.ts';
import { compat } from '../../infrastructure/providers/compat/index.ts';
import { randomNumbers, type ReplayEnding } from '../support/replay-upstream.ts';
import { expectStreamFailure } from './expectations.ts';
import { leftOut } from './left-out.ts';
import { type ChatStreamFacts, chatRecordings, noRecordings, type Recording } from './library.ts';
import { isLoose, listOf, readStream } from './received.ts';
import { rehearsal, replayConfig } from './rehearsal.ts';

type Stream = Recording<ChatStreamFacts>;

/** What makes a stream worth being cut; for each the shortest such recording, or another short one. */
const kinds: readonly ((stream: Stream) => boolean)[] = [
  has('usage_only_final'),
  has('tool_in_finish_chunk'),
  has('tools_parallel'),
  has('comments'),
  has('azure_prompt_filter'),
  has('x_groq.usage'),
  has('content_array'),
  has('reasoning:reasoning_content'),
  ({ facts }) => facts.sse?.done === true && Object.values(facts.choices).every((c) => !c.finish_reason),
  ({ facts }) => facts.error !== undefined,
];

function has(feature: string): (stream: Stream) => boolean {
  return ({ features }) => features.includes(feature);
}

const chosen = choose(chatRecordings().streams.toSorted((a, b) => a.body.length - b.body.length));
const named = chosen.map((stream): [string, Stream] => [stream.name, stream]);

function choose(shortestFirst: readonly Stream[]): readonly Stream[] {
  const taken = new Set<Stream>();
  const take = (wanted: (stream: Stream) => boolean): void => {
    const found = shortestFirst.find((stream) => !taken.has(stream) && wanted(stream));
    if (found !== undefined) taken.add(found);
  };
  for (const kind of kinds) take(kind);
  while (taken.size < Math.min(kinds.length, shortestFirst.length)) take(() => true);
  return [...taken];
}

if (noRecordings === undefined) cutShort();
else leftOut(noRecordings);

function cutShort(): void {
  const { ask } = rehearsal((url, key) => replayConfig(url, key, ['cut']));

  describe('a recorded stream that ends after any number of its bytes', () => {
    it.each(named)('%s: has exactly one end, `done` only after a terminal', (_name, { body }) => {
      const expected = verdicts(body);
      const wrong: object[] = [];
      for (let length = 0; length <= body.length; length += 1) {
        const { end, chunks } = expected(length);
        // Every byte with a clean end; a sample of them with a broken connection.
        const endings = length % 50 === 0 ? [eof, broken] : [eof];
        for (const ending of endings) {
          const seen = eventsOf(body.subarray(0, length), ending);
          if (seen !== `${'c'.repeat(chunks)}${end === 'done' ? 'd' : 'f'}`)
            wrong.push({ length, ending: ending.kind, seen, end, chunks });
        }
      }
      expect(wrong.slice(0, 5)).toEqual([]);
    });

    it.each(named)('%s: tells its caller so, and the ledger has what was complete', async (_name, stream) => {
      const { body } = stream;
      const expected = verdicts(body);
      const endings: readonly ReplayEnding['kind'][] = ['end', 'break', 'reset'];
      await Promise.all(
        lengthsOf(body).flatMap((after) =>
          endings.map(async (kind) => {
            const headers = { 'content-type': 'text/event-stream' };
            const replay = { headers, body, ending: { kind, after } };
            const answer = await ask(replay, { model: 'cut', stream: true });
            const received = readStream(answer.bytes);
            const { end, chunks } = expected(after);
            expect({ after, kind, chunks: received.chunks.length }).toEqual({ after, kind, chunks });
            if (end === 'failed') expectStreamFailure(answer, received, failure(stream, kind, after));
            else {
              expect({ dones: received.dones, errors: received.errors }).toEqual({ dones: 1, errors: [] });
              expect(answer.after.ledger).toHaveLength(1);
              expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
            }
          }),
        ),
      );
    });
  });
}

/** An error of the upstream's own has its own words. */
function failure({ facts, body }: Stream, kind: ReplayEnding['kind'], after: number): RegExp {
  if (facts.error !== undefined && framesOf(body).some(({ last, to }) => last === 'failed' && to <= after))
    return /./;
  return kind === 'end' ? /before the answer was complete/ : /connection to the upstream/;
}

const eof: Ending = { kind: 'eof' };
const broken: Ending = { kind: 'fault', reason: 'It broke.' };

const route: Route = {
  routeId: 'cut#0',
  provider: 'up',
  upstreamModel: 'cut',
  priority: 0,
  enabled: true,
  capabilities: {
    chat_completions: true,
    responses: true,
    stream: true,
    embeddings: true,
    tools: true,
    vision: true,
    json_schema: true,
  },
  compatibility: {},
  extraHeaders: {},
  extraBody: {},
};

const provider = compat.connect(
  {
    kind: 'compat',
    id: 'up',
    pricingProviderId: 'up',
    baseUrl: 'http://127.0.0.1/v1',
    auth: { mode: 'none' },
    defaultHeaders: {},
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
  },
  { sanitise: (message) => message },
);
const events = provider.dialect({
  route,
  family: 'chat_completions',
  stream: true,
  body: '{}',
  traceContext: {},
})!.events!;

/** The events of a whole run, a letter each: chunk, done, failed. */
function eventsOf(bytes: Buffer, ending: Ending): string {
  const run = events.begin();
  const seen = [...run.push(bytes), ...run.end(ending)];
  return seen.map(({ kind }) => kind[0]).join('');
}

interface Frame {
  /** Offset of the first byte after the byte that completes the frame. */
  readonly to: number;
  readonly last: 'done' | 'failed' | 'finish' | undefined;
}

/** The frames of a body by the book: a blank line ends one, and a CR alone ends a line. */
function framesOf(body: Buffer): readonly Frame[] {
  const frames: Frame[] = [];
  const text = body.toString('latin1');
  let data: string[] = [];
  let from = 0;
  for (const match of text.matchAll(/\r\n|\n|\r/g)) {
    const line = text.slice(from, match.index);
    from = match.index + match[0].length;
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
    if (line !== '' || data.length === 0) continue;
    frames.push({ to: match.index + 1, last: kindOf(Buffer.from(data.join('\n'), 'latin1').toString()) });
    data = [];
  }
  return frames;
}

function kindOf(data: string): Frame['last'] {
  if (data === '[DONE]') return 'done';
  const chunk: unknown = JSON.parse(data);
  if (!isLoose(chunk) || (chunk['error'] ?? null) !== null) return 'failed';
  const finishes = listOf(chunk['choices']).map((choice) => choice['finish_reason']);
  return finishes.some((finish) => typeof finish === 'string' && finish !== '') ? 'finish' : undefined;
}

/** How a stream must end that is cut after so many bytes, and how many chunks come before. */
function verdicts(body: Buffer): (length: number) => { end: 'done' | 'failed'; chunks: number } {
  const frames = framesOf(body);
  return (length) => {
    const complete = frames.filter(({ to }) => to <= length);
    const over = complete.findIndex(({ last }) => last === 'done' || last === 'failed');
    const before = over < 0 ? complete : complete.slice(0, over);
    const finished = before.some(({ last }) => last === 'finish');
    const last = over < 0 ? undefined : complete[over]?.last;
    return {
      end: last === 'failed' || !(finished || last === 'done') ? 'failed' : 'done',
      chunks: before.length,
    };
  };
}

/** Nothing, some at random, and all around the frames that decide how the stream ends. */
function lengthsOf(body: Buffer): readonly number[] {
  const random = randomNumbers(body.length);
  const lengths = [0, body.length, ...[1, 2, 3].map(() => Math.floor(random() * body.length))];
  for (const { to, last } of framesOf(body)) if (last !== undefined) lengths.push(to - 1, to, to + 3);
  return [...new Set(lengths.filter((length) => length <= body.length))];
}
