import { expect } from '@jest/globals';
import {
  expectCode,
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
  expectSuccessRows,
} from './expectations.ts';
import type {
  ChatFacts,
  ChatStreamFacts,
  Recording,
  TextFacts,
  ToolCallFacts,
  UsageFacts,
} from './library.ts';
import {
  contentText,
  eventData,
  factsOf,
  isLoose,
  listOf,
  type Loose,
  readStream,
  type ReceivedStream,
  sha256,
  thinkingParts,
} from './received.ts';
import type { Answer } from './rehearsal.ts';
import { parsed } from './replaying.ts';

/** Whether a body has several answers: the first `[DONE]` ends the stream, but the facts describe all of them. */
export function isGlued(body: Buffer): boolean {
  const payloads = eventData(body);
  const done = payloads.indexOf('[DONE]');
  return done >= 0 && payloads.slice(done).some((payload) => payload !== '[DONE]');
}

/** A stream with its facts and its rows; reasoning parts are under the metadata of this provider. */
export function expectChatStream(facts: ChatStreamFacts, answer: Answer, namespace?: string): void {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    expectRefusal(answer, { status: 502, attempt: 'stream_start_error' });
    return;
  }
  const received = readStream(answer.bytes, namespace);
  if (facts.error !== undefined) {
    const { message = '', code = 'upstream_error' } = facts.error;
    expectStreamFailure(answer, received, beginsWith(message), 502, expectCode(code));
  } else if (isTerminated(facts)) expectWhole(facts, answer, received);
  else expectStreamFailure(answer, received, /before the answer was complete/);
  expectChoices(facts, received);
  expectToolCalls(facts.toolCalls ?? [], received.toolCalls);
  for (const chunk of received.chunks) expectCanonical(chunk);
}

function expectWhole(facts: ChatStreamFacts, answer: Answer, received: ReceivedStream): void {
  expectStreamSuccess(answer, received, facts.usage ?? facts.xGroqUsage);
  expect(received.chunks).toHaveLength(facts.chunks);
  expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: facts.toolCalls?.length ?? 0 });
  if (facts.usage !== undefined) expect(received.usage).toMatchObject(tokens(facts.usage));
}

/** Matches the message up to a URL, which may be redacted. */
const beginsWith = (text: string): RegExp =>
  new RegExp(`^${text.replace(/:\/\/.*/s, '').replaceAll(/[^\w ]/g, String.raw`\$&`)}`);

/** Whether it has a non-empty finish reason or `[DONE]`; payload lists are framed with one. */
const isTerminated = ({ choices, sse }: ChatStreamFacts): boolean =>
  sse === undefined || sse.done || Object.values(choices).some(({ finish_reason }) => Boolean(finish_reason));

const tokens = ({ prompt_tokens, completion_tokens, total_tokens }: UsageFacts): UsageFacts => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
});

function expectChoices({ choices }: ChatStreamFacts, received: ReceivedStream): void {
  expect(Object.keys(received.choices).sort()).toEqual(Object.keys(choices).sort());
  for (const [index, facts] of Object.entries(choices)) {
    const choice = received.choices[index]!;
    expect(choice.finishReason).toBe(facts.finish_reason || null);
    expectText(facts.text, choice.text);
    // The metadata do not distinguish two keys with the same text.
    if (facts.reasoning !== undefined && facts.reasoningKeys?.length === 1)
      expectText(facts.reasoning, choice.reasoning);
    if (facts.reasoning === undefined) expect(choice.reasoning).toBe('');
  }
}

const expectText = ({ chars, sha256 }: TextFacts, text: string): void =>
  expect(factsOf(text)).toEqual({ chars, sha256 });

function expectToolCalls(
  facts: readonly ToolCallFacts[],
  calls: readonly {
    readonly key?: string;
    readonly id: unknown;
    readonly name: unknown;
    readonly arguments: string;
  }[],
): void {
  // A piece without index and id has no key.
  const keyed = calls.every(({ key }) => key?.endsWith(':?') !== true);
  expect(
    calls.map(({ key, id, name, arguments: text }) => ({
      key: keyed ? key : undefined,
      id: id ?? null,
      name: name ?? null,
      argumentsSha256: sha256(text),
    })),
  ).toEqual(
    facts.map(({ key, id, name, argumentsSha256 }) => ({
      key: keyed ? key : undefined,
      id: id ?? null,
      name: name ?? null,
      argumentsSha256,
    })),
  );
}

/** Reasoning is in the canonical place, and usage at the top. */
function expectCanonical(chunk: Loose): void {
  for (const { delta, usage } of listOf(chunk['choices'])) {
    if (chunk['usage'] === undefined || chunk['usage'] === null) expect(usage ?? null).toBeNull();
    if (!isLoose(delta)) continue;
    expect(listOf(delta['content']).filter(isThinking)).toEqual([]);
    if (delta['reasoning'] === undefined || delta['reasoning'] === null)
      expect([typeof delta['reasoning_content'], typeof delta['reasoning_text']]).not.toContain('string');
  }
}

const isThinking = ({ type }: Loose): boolean => type === 'thinking' || type === 'redacted_thinking';

export function isChatCompletion(body: Buffer): boolean {
  const value = parsed(body);
  return isLoose(value) && Array.isArray(value['choices']) && (value['error'] ?? null) === null;
}

/** The caller received a whole answer byte for byte, unless a rule changed it. */
export function expectWholeChat(
  { body, facts, features }: Recording<ChatFacts>,
  answer: Answer,
  namespace?: string,
): void {
  expectSuccessRows(answer, facts.usage);
  const messages = (value: unknown): readonly Loose[] =>
    isLoose(value) ? listOf(value['choices']).map(({ message }) => (isLoose(message) ? message : {})) : [];
  const recorded = messages(parsed(body));
  const received = messages(parsed(answer.bytes));
  const thinking = recorded.map(({ content }) => listOf(content).filter(isThinking));
  if (thinking.flat().length === 0) expect(answer.bytes.equals(body)).toBe(true);
  expect(received.map((message) => thinkingParts(message, namespace))).toEqual(thinking);
  const choices = listOf((parsed(answer.bytes) as Loose)['choices']);
  expect(choices.map((choice) => choice['finish_reason'] ?? null)).toEqual(
    facts.choices.map(({ finish_reason }) => finish_reason ?? null),
  );
  for (const [index, message] of received.entries()) {
    const told = facts.choices[index]!;
    expect(listOf(message['content']).filter(isThinking)).toEqual([]);
    const others = listOf(recorded[index]!['content']).filter((part) => !isThinking(part));
    if (thinking[index]!.length > 0 && others.every(({ type }) => type === 'text'))
      expect(typeof message['content']).toBe('string');
    expectText(told.text, contentText(message['content']));
    expectToolCalls(told.toolCalls ?? [], wholeCalls(message));
  }
  const calls = facts.choices.flatMap(({ toolCalls }) => toolCalls ?? []).length;
  const legacy = features.includes('finish:function_call') ? 1 : 0;
  expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: calls + legacy });
}

const wholeCalls = (message: Loose) =>
  listOf(message['tool_calls']).map(({ id, function: named }) => ({
    id,
    name: isLoose(named) ? named['name'] : undefined,
    arguments: isLoose(named) ? String(named['arguments']) : '',
  }));
