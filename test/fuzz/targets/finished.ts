import { isObject, type Json, type JsonObject, objectsOf, parseJson } from '../../../domain/shared/json.ts';
import { readEvents } from '../../recordings/received.ts';
import type { CallerFamily, Sample } from '../../samples/sample.ts';
import { framesIn } from './event-frames.ts';

interface Event {
  readonly name: string | undefined;
  readonly data: string;
  readonly value: JsonObject;
}

const mark = Buffer.from('\uFEFF');

function eventsIn(bytes: Buffer): readonly Event[] {
  const from = mark.equals(bytes.subarray(0, mark.length)) ? mark.length : 0;
  return readEvents(bytes.subarray(from)).map(({ name, data }) => {
    const value = parseJson(data);
    return { name, data, value: isObject(value) ? value : {} };
  });
}

const isText = (value: Json | undefined): boolean => typeof value === 'string' && value !== '';

const typeOf = ({ name, value: { type } }: Event): Json | undefined =>
  typeof type === 'string' ? type : name;

const terminals: ReadonlySet<Json | undefined> = new Set(['response.completed', 'response.incomplete']);

const stopReasonOf = ({ value: { delta } }: Event): Json | undefined =>
  isObject(delta) ? delta['stop_reason'] : undefined;

const escape = /\\u([0-9a-f]{4})/gi;

/** The text with its escapes decoded. */
const unescaped = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replaceAll(escape, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));

/**
 * Whether the bytes of an upstream contain the end of an answer by its protocol, read without the gateway's
 * machines. If false, the gateway must not send an answer that looks complete.
 */
export function mayBeComplete(
  { upstream, contentType }: Pick<Sample, 'upstream' | 'contentType'>,
  caller: CallerFamily,
  bytes: Buffer,
): boolean {
  switch (upstream) {
    case 'platform B, converse': {
      const { frames, isCut } = framesIn(bytes);
      return !isCut && frames.some((frame) => frame.includes('messageStop'));
    }
    case 'platform A, generation':
      return contentType.includes('event-stream')
        ? eventsIn(bytes).some(({ data }) =>
            /finishReason|blockReason|promptFeedback/.test(unescaped(Buffer.from(data))),
          )
        : /finishReason|blockReason|promptFeedback/.test(unescaped(bytes));
    case 'platform A, messages':
    case 'platform B, messages':
    case 'platform B, invoke':
      return eventsIn(bytes).some(
        (event) => typeOf(event) === 'message_stop' || (caller !== 'messages' && isText(stopReasonOf(event))),
      );
    case 'compat':
    case 'platform A, predict':
    case 'platform A, embed content':
      return caller === 'responses'
        ? eventsIn(bytes).some((event) => terminals.has(typeOf(event)))
        : eventsIn(bytes).some(
            ({ data, value }) =>
              data.trim() === '[DONE]' ||
              objectsOf(value['choices']).some(({ finish_reason: finish }) => isText(finish)),
          );
  }
}
