import { isLoose, type Loose, readEvents } from './received.ts';

/** A messages stream as a caller parses it, without the code of the gateway. */
export interface ReceivedMessages {
  /** The data of every event, in order. */
  readonly payloads: readonly string[];
  /** The number of events by name, which clients rely on. */
  readonly eventTypes: Readonly<Record<string, number>>;
  readonly errors: readonly Loose[];
  /** The number of `[DONE]`, which this family must not have. */
  readonly dones: number;
  readonly text: string;
  readonly stopReason: unknown;
  readonly blocks: readonly {
    readonly index: unknown;
    readonly type: unknown;
    /** The thinking and the JSON of the input in its deltas. */
    readonly thinking: string;
    readonly input: string;
  }[];
}

const memberOf = (event: Loose, key: string): Loose => {
  const value = event[key];
  return isLoose(value) ? value : {};
};

export function readMessages(bytes: Buffer): ReceivedMessages {
  const all = readEvents(bytes);
  const named = all
    .filter(({ data }) => data !== '[DONE]')
    .map(({ name = '', data }) => ({ name, event: JSON.parse(data) as Loose }));
  const eventTypes: Record<string, number> = {};
  for (const { name } of named) eventTypes[name] = (eventTypes[name] ?? 0) + 1;
  const of = (type: string): readonly Loose[] =>
    named.filter(({ name }) => name === type).map(({ event }) => event);
  const deltas = of('content_block_delta').map((event) => ({
    index: event['index'],
    delta: memberOf(event, 'delta'),
  }));
  const said = (type: string, member: string, index?: unknown): string =>
    deltas
      .filter((each) => each.delta['type'] === type && (index === undefined || each.index === index))
      .map(({ delta }) => String(delta[member]))
      .join('');
  return {
    payloads: all.map(({ data }) => data),
    eventTypes,
    errors: of('error'),
    dones: all.length - named.length,
    text: said('text_delta', 'text'),
    stopReason: of('message_delta').map((event) => memberOf(event, 'delta')['stop_reason'])[0],
    blocks: of('content_block_start').map((event) => ({
      index: event['index'],
      type: memberOf(event, 'content_block')['type'],
      thinking: said('thinking_delta', 'thinking', event['index']),
      input: said('input_json_delta', 'partial_json', event['index']),
    })),
  };
}
