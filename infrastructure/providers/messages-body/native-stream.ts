import type { MessagesEvent } from '../../../domain/messages/block-writer.ts';
import { type JsonObject, membersOf, parseExactObject } from '../../../domain/shared/json.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import type { StreamMachine } from '../../../domain/shared/stream-machine.ts';
import { prematureEnd, streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import { failureInStream } from '../../../domain/upstream/upstream-words.ts';
import { anotherMessage, isAnother } from './beginning.ts';
import { type MessagesFrame, readEvent } from './event.ts';

/** `new` until a message begins, then that message. */
type Phase = 'new' | { readonly begun: JsonObject } | 'over';
type Step = readonly [Phase, readonly MessagesEvent[]];

/**
 * A messages stream for callers who speak the same: events go out as the bytes that came, `vertex_event` is dropped,
 * and `message_stop` is held back until the ledger row is committed. A message that begins once more is dropped too,
 * because clients give up on it. An `error` event, a malformed one, another message, and an end before `message_stop` are
 * failures.
 */
export const nativeMessagesStream = (
  sanitise: (message: string) => string,
): StreamMachine<Phase, TextFrame, MessagesEvent> => ({
  start: () => 'new',
  step: (phase, frame) =>
    phase === 'over' ? [phase, []] : stepEvent(phase, frame, readEvent(frame, sanitise)),
  end: (phase, ending) => (phase === 'over' ? [] : [{ kind: 'failed', error: prematureEnd(ending) }]),
});

const over = (...events: readonly MessagesEvent[]): Step => ['over', events];

function stepEvent(phase: Exclude<Phase, 'over'>, frame: TextFrame, event: MessagesFrame): Step {
  switch (event.kind) {
    case 'nothing':
      return [phase, []];
    case 'fault':
      return over({ kind: 'failed', error: failureInStream(event) });
    case 'end':
      return over({ kind: 'failed', error: prematureEnd({ kind: 'eof' }) });
    case 'event': {
      const begins = event.type === 'message_start' ? membersOf(event.value['message']) : undefined;
      if (begins !== undefined && phase !== 'new')
        return isAnother(begins, phase.begun)
          ? over({ kind: 'failed', error: streamFailure(anotherMessage) })
          : [phase, []];
      const passed = asCame(frame, event);
      return event.type === 'message_stop'
        ? over({ kind: 'chunk', ...passed, terminal: true, held: true }, { kind: 'done' })
        : [begins === undefined ? phase : { begun: begins }, [{ kind: 'chunk', ...passed, terminal: false }]];
    }
  }
}

type PassedOn = Pick<Extract<MessagesEvent, { kind: 'chunk' }>, 'chunk' | 'wire' | 'text'>;

/** The bytes as they came; an event without a name is spelled again with one, which clients go by. */
const asCame = (
  frame: TextFrame,
  { type, value, data }: Extract<MessagesFrame, { kind: 'event' }>,
): PassedOn =>
  frame.kind === 'frame' && frame.event === type
    ? { chunk: value, wire: frame.wire, text: data }
    : { chunk: parseExactObject(data), wire: undefined };
