import { readEvents, type ReceivedEvent } from '../../recordings/received.ts';
import { demand } from '../target.ts';

/** What a rule may touch, drop, or take for the end. */
const touchable = /reasoning|thinking|usage|error|fail|DONE|vertex_event|message_stop|completed|\\/;

const isTouchable = ({ name, data }: ReceivedEvent): boolean =>
  data === '' || touchable.test(data) || touchable.test(name ?? '');

const mark = Buffer.from('\uFEFF');

/** Events beyond which what went out is not looked for among what came in, one by one. */
const maxEvents = 2000;

/** An event of a messages stream that has no name is spelled again with one. */
const isRespelled = ({ name, data }: ReceivedEvent): boolean =>
  (name === undefined || name === '' || name === 'message') && data.includes('type');

/**
 * What no rule touches goes out as the bytes that came in, and in their order; of an answer that is complete, all of it
 * up to what may have ended it.
 */
export function passedOn(input: Buffer, output: Buffer, isComplete: boolean): void {
  const from = mark.equals(input.subarray(0, mark.length)) ? mark.length : 0;
  const came = readEvents(input.subarray(from));
  if (came.length > maxEvents) return;
  let at = 0;
  for (const sent of readEvents(output)) {
    const found = came.findIndex((event, index) => index >= at && event.wire.equals(sent.wire));
    if (found < 0 && isTouchable(sent)) continue;
    const next =
      found < 0
        ? came.findIndex((event, index) => index >= at && (isTouchable(event) || isRespelled(event)))
        : found;
    demand(next >= 0, 'an event goes out that did not come in');
    demandDroppable(came.slice(at, next));
    at = next + 1;
  }
  const last = came[at - 1];
  if (!isComplete || (last !== undefined && isTouchable(last))) return;
  const end = came.findIndex((event, index) => index >= at && isTouchable(event));
  demandDroppable(came.slice(at, end < 0 ? came.length : end));
}

const demandDroppable = (events: readonly ReceivedEvent[]): void =>
  demand(
    events.every((event) => isTouchable(event)),
    'an event that no rule touches does not go out',
  );
