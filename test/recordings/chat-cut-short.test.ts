import { expect } from '@jest/globals';
import { type Check, choose, describeCutShort, type Meaning } from './cut-short.ts';
import { expectCode, expectStreamFailure } from './expectations.ts';
import { leftOut } from './left-out.ts';
import { type ChatStreamFacts, chatRecordings, noRecordings, type Recording } from './library.ts';
import { isLoose, listOf, type ReceivedEvent, readStream } from './received.ts';

type Stream = Recording<ChatStreamFacts>;

const has =
  (feature: string) =>
  ({ features }: Stream): boolean =>
    features.includes(feature);

/** The kinds of streams that are cut. */
const wishes: readonly ((stream: Stream) => boolean)[] = [
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

function meaning({ data }: ReceivedEvent): Meaning {
  if (data === '[DONE]') return 'done';
  const chunk: unknown = JSON.parse(data);
  if (!isLoose(chunk) || (chunk['error'] ?? null) !== null) return 'failed';
  const finishes = listOf(chunk['choices']).map((choice) => choice['finish_reason']);
  return finishes.some((finish) => typeof finish === 'string' && finish !== '') ? 'finish' : undefined;
}

const check: Check<ChatStreamFacts> = (answer, { end, chunks }, message, { facts, body }) => {
  const received = readStream(answer.bytes);
  expect(received.chunks).toHaveLength(chunks);
  if (end === 'failed') {
    // An error that the upstream sent before the cut keeps its message.
    const own = facts.error !== undefined && readStream(body).chunks.length === chunks;
    const ownCode = own ? facts.error?.code : undefined;
    const code = ownCode !== undefined && answer.bytes.includes(ownCode) ? ownCode : 'upstream_error';
    expectStreamFailure(answer, received, own ? /./ : message, 502, expectCode(code));
    return;
  }
  expect({ dones: received.dones, errors: received.errors }).toEqual({ dones: 1, errors: [] });
  expect(answer.after.ledger).toHaveLength(1);
  expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
};

if (noRecordings === undefined)
  describeCutShort({
    family: 'chat_completions',
    streams: choose(chatRecordings().streams, wishes),
    meaning,
    check,
  });
else leftOut(noRecordings);
