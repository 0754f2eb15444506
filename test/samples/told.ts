import {
  contentText,
  isLoose,
  listOf,
  type Loose,
  readEvents,
  readStream,
  thinkingParts,
} from '../recordings/received.ts';
import { outputText, readResponses } from '../recordings/received-responses.ts';
import type { CallerFamily, CallFacts, Facts, UsageFacts } from './sample.ts';

/** What a caller reads from an answer, parsed without any of the gateway's code. */
export interface Told {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly CallFacts[];
  /** In the caller's terms. */
  readonly finish: string | undefined;
  readonly usage: UsageFacts | undefined;
  readonly error: string | undefined;
  /** The answer looks complete. */
  readonly complete: boolean;
}

type Reader = (bytes: Buffer, namespace: string) => Told;

export interface Readers {
  readonly stream: Reader;
  readonly whole: Reader;
}

type GenerationFamily = Exclude<CallerFamily, 'embeddings' | 'count_tokens'>;

const memberOf = (value: unknown, key: string): unknown => (isLoose(value) ? value[key] : undefined);
const textAt = (value: unknown, key: string): string => {
  const text = memberOf(value, key);
  return typeof text === 'string' ? text : '';
};
const countAt = (value: unknown, key: string): number => Number(memberOf(value, key) ?? 0);
const optional = (text: string): string | undefined => (text === '' ? undefined : text);

/** Parses a text that is a JSON object. */
export function objectIn(text: string | Buffer): Loose {
  const value: unknown = JSON.parse(text.toString());
  if (!isLoose(value)) throw new Error(`no object: ${text.toString()}`);
  return value;
}

const chatUsage = (usage: unknown): UsageFacts | undefined =>
  isLoose(usage)
    ? {
        prompt: countAt(usage, 'prompt_tokens'),
        completion: countAt(usage, 'completion_tokens'),
        total: countAt(usage, 'total_tokens'),
      }
    : undefined;

const chatStream: Reader = (bytes, namespace) => {
  const { choices, toolCalls, usage, errors, dones } = readStream(bytes, namespace);
  const choice = choices['0'];
  return {
    text: choice?.text ?? '',
    reasoning: choice?.reasoning ?? '',
    calls: toolCalls.map(({ id = '', name = '', arguments: text }) => ({ id, name, input: objectIn(text) })),
    finish: choice?.finishReason ?? undefined,
    usage: chatUsage(usage),
    error: errors.map(({ error }) => textAt(error, 'message'))[0],
    complete: dones === 1,
  };
};

const chatWhole: Reader = (bytes, namespace) => {
  const { choices, usage } = objectIn(bytes);
  const choice = listOf(choices)[0] ?? {};
  const message = isLoose(choice['message']) ? choice['message'] : {};
  const thoughts = thinkingParts(message, namespace).map((part) => textAt(part, 'thinking'));
  return {
    text: contentText(message['content']),
    reasoning: textAt(message, 'reasoning') + thoughts.join(''),
    calls: listOf(message['tool_calls']).map(({ id, function: called }) => ({
      id: String(id),
      name: textAt(called, 'name'),
      input: objectIn(textAt(called, 'arguments')),
    })),
    finish: optional(textAt(choice, 'finish_reason')),
    usage: chatUsage(usage),
    error: undefined,
    complete: true,
  };
};

/** Cached tokens are counted beside the input tokens, and are part of the prompt. */
function messagesUsage(usage: Loose): UsageFacts {
  const prompt =
    countAt(usage, 'input_tokens') +
    countAt(usage, 'cache_creation_input_tokens') +
    countAt(usage, 'cache_read_input_tokens');
  const completion = countAt(usage, 'output_tokens');
  return { prompt, completion, total: prompt + completion };
}

const messagesStream: Reader = (bytes) => {
  const events = readEvents(bytes).map(({ name, data }) => ({ name, event: objectIn(data) }));
  const of = (type: string): readonly Loose[] =>
    events.filter(({ name }) => name === type).map(({ event }) => event);
  const deltas = of('content_block_delta');
  const said = (member: string, among = deltas): string =>
    among.map(({ delta }) => textAt(delta, member)).join('');
  const [begun] = of('message_start');
  const [stopped] = of('message_delta');
  const first = memberOf(begun?.['message'], 'usage');
  const last = stopped?.['usage'];
  return {
    text: said('text'),
    reasoning: said('thinking'),
    calls: of('content_block_start')
      .filter((event) => textAt(event['content_block'], 'type') === 'tool_use')
      .map(({ index, content_block }) => {
        const own = deltas.filter((delta) => delta['index'] === index);
        return {
          id: textAt(content_block, 'id'),
          name: textAt(content_block, 'name'),
          input: objectIn(optional(said('partial_json', own)) ?? '{}'),
        };
      }),
    finish: optional(textAt(stopped?.['delta'], 'stop_reason')),
    usage: isLoose(last) ? messagesUsage({ ...(isLoose(first) ? first : {}), ...last }) : undefined,
    error: of('error').map(({ error }) => textAt(error, 'message'))[0],
    complete: of('message_stop').length === 1,
  };
};

const messagesWhole: Reader = (bytes) => {
  const { content, stop_reason: stop, usage } = objectIn(bytes);
  const blocks = listOf(content);
  return {
    text: blocks.map((block) => textAt(block, 'text')).join(''),
    reasoning: blocks.map((block) => textAt(block, 'thinking')).join(''),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => ({
        id: String(id),
        name: String(name),
        input: isLoose(input) ? input : {},
      })),
    finish: typeof stop === 'string' ? stop : undefined,
    usage: isLoose(usage) ? messagesUsage(usage) : undefined,
    error: undefined,
    complete: true,
  };
};

const finalStatuses: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed']);

/** A response object contains everything. */
function responseTold(response: Loose): Told {
  const items = listOf(response['output']);
  const { usage, status, error } = response;
  return {
    text: outputText(response),
    reasoning: items
      .flatMap(({ summary }) => listOf(summary))
      .map((part) => textAt(part, 'text'))
      .join(''),
    calls: items
      .filter(({ type }) => type === 'function_call')
      .map(({ call_id: id, name, arguments: text }) => ({
        id: String(id),
        name: String(name),
        input: objectIn(String(text)),
      })),
    finish: finalStatuses.has(status) ? String(status) : undefined,
    usage: isLoose(usage)
      ? {
          prompt: countAt(usage, 'input_tokens'),
          completion: countAt(usage, 'output_tokens'),
          total: countAt(usage, 'total_tokens'),
        }
      : undefined,
    error: optional(textAt(error, 'message')),
    complete: true,
  };
}

const responsesStream: Reader = (bytes) => {
  const { text, response, errors, dones } = readResponses(bytes);
  const told = responseTold(response);
  return {
    ...told,
    text,
    error: told.error ?? errors.map((event) => textAt(event, 'message'))[0],
    complete: dones === 1,
  };
};

export const readers: Readonly<Record<GenerationFamily, Readers>> = {
  chat_completions: { stream: chatStream, whole: chatWhole },
  messages: { stream: messagesStream, whole: messagesWhole },
  responses: { stream: responsesStream, whole: (bytes) => responseTold(objectIn(bytes)) },
};

/** Maps finish reasons of chat to stop reasons of messages. */
const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** A messages answer always has usage; unknown counts are 0. */
const nothingCounted: UsageFacts = { prompt: 0, completion: 0, total: 0 };

/** What a caller of this family must read from a sample. */
export const expectedOf = (facts: Facts, caller: CallerFamily): Told => ({
  text: facts.text,
  reasoning: facts.reasoning ?? '',
  calls: facts.calls ?? [],
  finish: caller === 'messages' ? stopReasons[facts.finish ?? ''] : facts.finish,
  usage: facts.usage ?? (caller === 'messages' && facts.error === undefined ? nothingCounted : undefined),
  error: facts.error,
  complete: facts.error === undefined,
});
