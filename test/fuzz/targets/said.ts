import {
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
  parseJson,
} from '../../../domain/shared/json.ts';
import { grammarFault } from '../../support/messages-grammar.ts';
import { readEvents, type ReceivedEvent } from '../../recordings/received.ts';
import type { CallerFamily } from '../../samples/sample.ts';
import { demand } from '../target.ts';

/** A stream as its caller reads it. */
export interface Said {
  readonly end: 'complete' | 'failed';
  readonly error: string | undefined;
  /** The kinds of events, each once. */
  readonly shapes: readonly string[];
}

interface Event extends ReceivedEvent {
  readonly value: Json | undefined;
}

const isDone = ({ data }: Event): boolean => data.trim() === '[DONE]';
const objectOf = ({ value }: Event): JsonObject => (isObject(value) ? value : {});
const isSet = (value: Json | undefined): boolean => value !== undefined && value !== null;

/**
 * Reads the bytes as a caller of the family does; throws if they violate the family's protocol.
 * `isTranslated`: the gateway has written all of the stream, so that each part must be well-formed.
 */
export function saidTo(caller: CallerFamily, bytes: Buffer, isTranslated: boolean): Said {
  const events = readEvents(bytes).map((event): Event => ({ ...event, value: parseJson(event.data) }));
  // The offset is that of the first byte of the last line end, which may have two.
  demand((events.at(-1)?.to ?? 0) >= bytes.length - 1, 'there is more behind the last event');
  demand(
    events.every((event) => isDone(event) || event.data === '' || isObject(event.value)),
    'an event is no JSON object',
  );
  switch (caller) {
    case 'messages':
      return messagesSaid(events, isTranslated);
    case 'responses':
      return responsesSaid(events);
    case 'chat_completions':
    case 'embeddings':
    case 'count_tokens':
      return chatSaid(events, isTranslated);
  }
}

/** The type of an event: its own, or else its event name. */
const typeOf = (event: Event): string | undefined => {
  const { type } = objectOf(event);
  return isString(type) ? type : event.name;
};

const messageOf = (error: Json | undefined): string =>
  isObject(error) && typeof error['message'] === 'string' ? error['message'] : 'without a message';

/** Checks that there is one end, and no event after it. */
function endOf(
  events: readonly Event[],
  isEnd: (event: Event) => boolean,
  isError: (event: Event) => boolean,
) {
  const at = events.findIndex((event) => isEnd(event) || isError(event));
  demand(at >= 0, 'the stream has no end');
  demand(at === events.length - 1, 'something comes behind the end');
  return events.slice(at).some(isError) ? 'failed' : 'complete';
}

const finishes: ReadonlySet<Json | undefined> = new Set([
  null,
  'stop',
  'length',
  'tool_calls',
  'content_filter',
]);

function chatSaid(events: readonly Event[], isTranslated: boolean): Said {
  const isError = (event: Event) => isSet(objectOf(event)['error']);
  const end = endOf(events, isDone, isError);
  const chunks = events.filter((event) => !isDone(event) && !isError(event)).map(objectOf);
  if (isTranslated) for (const chunk of chunks) demandChunk(chunk);
  return {
    end,
    error: end === 'failed' ? messageOf(objectOf(events.at(-1)!)['error']) : undefined,
    shapes: kindsOf(
      chunks.flatMap(({ choices, usage }) => [
        ...(isSet(usage) ? ['usage'] : []),
        ...objectsOf(choices).flatMap(({ delta, finish_reason: finish }) => [
          ...(isObject(delta) ? Object.keys(delta) : []),
          ...(typeof finish === 'string' ? [finish.slice(0, 16)] : []),
        ]),
      ]),
    ),
  };
}

function demandChunk({ id, object, choices, usage }: JsonObject): void {
  demand(id === 'chatcmpl-1' && object === 'chat.completion.chunk', 'a chunk without its envelope');
  demand(Array.isArray(choices), 'a chunk without choices');
  for (const { index, delta, finish_reason: finish } of objectsOf(choices)) {
    demand(Number.isInteger(numberOf(index)), 'a choice without an index');
    demand(isObject(delta), 'a choice without a delta');
    demand(finishes.has(finish), 'a finish reason that nobody knows');
    for (const call of objectsOf(delta['tool_calls']))
      demand(Number.isInteger(numberOf(call['index'])), 'a piece of a tool call without an index');
  }
  if (!isObject(usage)) return;
  // An invalid total is sent as received, so that all of the usage counts as missing.
  for (const name of ['prompt_tokens', 'completion_tokens'])
    demand(!isSet(usage[name]) || (numberOf(usage[name]) ?? -1) >= 0, 'a count of tokens is none');
}

function messagesSaid(events: readonly Event[], isTranslated: boolean): Said {
  demand(
    events.every((event) => event.name === typeOf(event) || event.data === ''),
    'an event has another name than its type',
  );
  const end = endOf(
    events,
    (event) => typeOf(event) === 'message_stop',
    (event) => typeOf(event) === 'error',
  );
  if (isTranslated) {
    const fault = grammarFault(events.map(({ value }) => value));
    demand(fault === undefined, `the messages are not in order: ${fault}`);
  }
  return {
    end,
    error: end === 'failed' ? messageOf(objectOf(events.at(-1)!)['error']) : undefined,
    shapes: kindsOf(
      events.map((event) => {
        const { content_block: block, delta } = objectOf(event);
        const inner = isObject(block) ? block['type'] : isObject(delta) ? delta['type'] : '';
        return `${event.name} ${typeof inner === 'string' ? inner.slice(0, 16) : 'odd'}`;
      }),
    ),
  };
}

const failures: ReadonlySet<string | undefined> = new Set(['error', 'response.failed', 'response.cancelled']);

function responsesSaid(events: readonly Event[]): Said {
  const isFailure = (event: Event) => failures.has(typeOf(event));
  const isTerminal = (event: Event) =>
    typeOf(event) === 'response.completed' || typeOf(event) === 'response.incomplete';
  const dones = events.filter(isDone).length;
  const last = events.at(-1);
  demand(
    last !== undefined && (dones === 0 || (dones === 1 && isDone(last))),
    'something comes behind the end',
  );
  const failure = events.find(isFailure);
  demand(failure === undefined || dones === 0, 'a stream that failed looks complete');
  demand(failure !== undefined || dones === 1, 'the stream has no end');
  demand(
    dones === (events.some(isTerminal) ? 1 : 0),
    'an end without what completes the answer, or the other way round',
  );
  return {
    end: dones === 1 ? 'complete' : 'failed',
    error: failure === undefined ? undefined : messageOf(failure.value),
    shapes: kindsOf(events.map((event) => String(typeOf(event)).slice(0, 40))),
  };
}

const kindsOf = (kinds: readonly string[]): readonly string[] => [...new Set(kinds)];
