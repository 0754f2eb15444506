import { expect } from '@jest/globals';
import { type Check, choose, describeCutShort, type Meaning } from './cut-short.ts';
import { expectErrorEvent, expectFailedStream, expectStreamFailure } from './expectations.ts';
import { leftOut } from './left-out.ts';
import { noRecordings, type Recording, responsesRecordings, type ResponsesStreamFacts } from './library.ts';
import { isLoose, type ReceivedEvent } from './received.ts';
import { isTerminal, readResponses } from './received-responses.ts';

type Stream = Recording<ResponsesStreamFacts>;

/** The kinds of streams that are cut: each vendor, each framing, each kind of item, and a failure. */
const wishes: readonly ((stream: Stream) => boolean)[] = [
  from('openai'),
  from('azure'),
  from('bedrock-mantle'),
  from('deepseek'),
  from('openrouter'),
  from('xai'),
  ({ name }) => name.endsWith('names first'),
  ({ name }) => name.endsWith('names last'),
  ({ name }) => name.endsWith('[DONE]'),
  ({ facts }) => facts.final.items.includes('function_call'),
  ({ facts }) => facts.final.items.includes('web_search_call'),
  ({ facts, name }) => facts.error !== undefined && name.endsWith('names first'),
  ({ facts, name }) => facts.error !== undefined && name.endsWith('[DONE]'),
];

function from(vendor: string): (stream: Stream) => boolean {
  return ({ name }) => name.startsWith(`${vendor}/`);
}

function meaning({ data }: ReceivedEvent): Meaning {
  if (data === '[DONE]') return 'over';
  const payload: unknown = JSON.parse(data);
  if (!isLoose(payload)) return 'failed';
  if (payload['type'] === 'error' || payload['type'] === 'response.failed') return 'told';
  return isTerminal(payload) ? 'finish' : undefined;
}

const check: Check<ResponsesStreamFacts> = (answer, { end, chunks }, message, { body }) => {
  const received = readResponses(answer.bytes);
  const whole = readResponses(body);
  const passed = received.events.slice(0, chunks).map(({ wire }) => wire);
  expect(
    Buffer.concat(passed).equals(Buffer.concat(whole.events.slice(0, chunks).map(({ wire }) => wire))),
  ).toBe(true);
  expect(received.events).toHaveLength(end === 'failed' ? chunks + 1 : chunks);
  expect(received.dones).toBe(end === 'done' ? 1 : 0);
  if (end === 'failed') expectStreamFailure(answer, received, message, 502, expectErrorEvent);
  if (end === 'told') expectFailedStream(answer);
  if (end !== 'done') return;
  expect(received.errors).toEqual([]);
  expect(answer.after.ledger).toHaveLength(1);
  expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
};

if (noRecordings === undefined)
  describeCutShort({
    family: 'responses',
    streams: choose(responsesRecordings().streams, wishes),
    meaning,
    check,
  });
else leftOut(noRecordings);
