import { expect } from '@jest/globals';
import { expectFailedStream, expectRefusal, expectStreamSuccess, expectSuccessRows } from './expectations.ts';
import type {
  Recording,
  ResponseFacts,
  ResponseObjectFacts,
  ResponsesStreamFacts,
  UsageFacts,
} from './library.ts';
import { factsOf, isLoose, listOf, type Loose, sha256 } from './received.ts';
import { isTerminal, outputText, readResponses, type ReceivedResponses } from './received-responses.ts';
import type { Answer } from './rehearsal.ts';
import { parsed } from './replaying.ts';

/** Whether an item is a call, including those of hosted tools. */
const isCall = (type: string): boolean => type.endsWith('_call');

const usageOf = ({ usage }: ResponseObjectFacts): UsageFacts | undefined =>
  usage === null
    ? undefined
    : {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
      };

const doneFrame = Buffer.from('data: [DONE]\n\n');

/** The caller received a stream event for event, with its facts and its rows. */
export function expectResponsesStream(
  { body, facts }: Recording<ResponsesStreamFacts>,
  answer: Answer,
): void {
  const received = readResponses(answer.bytes);
  const succeeded = facts.terminal === 'response.completed';
  // Every event has its original bytes; comments and the `[DONE]` of the upstream are dropped.
  const sent = [...readResponses(body).events.map(({ wire }) => wire), ...(succeeded ? [doneFrame] : [])];
  expect(answer.bytes.equals(Buffer.concat(sent))).toBe(true);
  if (succeeded) expectStreamSuccess(answer, received, usageOf(facts.final));
  else {
    expect([received.dones, received.errors.length]).toEqual([0, 1]);
    expectFailedStream(answer);
    expect(answer.after.logs[0]?.['prompt_tokens']).toBeNull();
  }
  expectFacts(facts, received);
  // Items of several answers in one stream have the same indexes.
  if (received.chunks.filter(isTerminal).length <= 1)
    expectRow(answer, facts.final.items.filter(isCall).length, true);
}

/** The caller received a whole response byte for byte, with its facts and its rows; another body is 502. */
export function expectWholeResponse({ body, facts }: Recording<ResponseFacts>, answer: Answer): void {
  const response = parsed(body);
  if (!isLoose(response) || !Array.isArray(response['output'])) {
    expectRefusal(answer, { status: 502, attempt: 'provider_error', message: /without `output`/ });
    return;
  }
  expect(answer.bytes.equals(body)).toBe(true);
  expectSuccessRows(answer, usageOf(facts));
  expectResponse(facts, response);
  expectRow(answer, facts.items.filter(isCall).length);
}

function expectFacts(facts: ResponsesStreamFacts, received: ReceivedResponses): void {
  const types: Record<string, number> = {};
  for (const { type } of received.chunks) types[String(type)] = (types[String(type)] ?? 0) + 1;
  expect(types).toEqual(facts.eventTypes);
  expect(received.chunks[0]?.['type']).toBe(facts.firstType);
  expect(received.chunks.at(-1)?.['type']).toBe(facts.terminal);
  expect(received.response['id']).toBe(facts.responseId);
  expect(factsOf(received.text)).toEqual(textFacts(facts.deltaText));
  expectResponse(facts.final, received.response);
  const [error] = received.errors;
  const inside = error?.['error'] ?? error;
  expect(isLoose(inside) ? String(inside['message']) : '').toMatch(startOf(facts.error?.message ?? ''));
}

const textFacts = ({ chars, sha256: sum }: ResponsesStreamFacts['deltaText']) => ({ chars, sha256: sum });

const startOf = (text: string): RegExp => new RegExp(`^${text.replaceAll(/[^\w ]/g, String.raw`\$&`)}`);

function expectResponse(facts: ResponseObjectFacts, response: Loose): void {
  const output = listOf(response['output']);
  expect(response['status']).toBe(facts.status);
  expect(output.map(({ type }) => type)).toEqual(facts.items);
  expect(factsOf(outputText(response))).toEqual(textFacts(facts.text));
  expect(
    output
      .filter(({ type }) => type === 'function_call')
      .map((call) => [call['call_id'], call['name'], sha256(String(call['arguments']))]),
  ).toEqual(
    facts.functionCalls.map(({ call_id, name, argumentsSha256 }) => [call_id, name, argumentsSha256]),
  );
  if (facts.usage !== null) {
    const { input_tokens, output_tokens, total_tokens } = facts.usage;
    expect(response['usage']).toMatchObject({ input_tokens, output_tokens, total_tokens });
  }
}

function expectRow({ after }: Answer, invoked: number, stream = false): void {
  expect(after.logs[0]).toMatchObject({
    exposed_tool_count: 0,
    invoked_tool_count: invoked,
    metadata_json: { operation: 'responses', stream },
  });
}
