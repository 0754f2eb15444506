import type { MessagesEvent } from '../../../domain/messages/block-writer.ts';
import { type JsonObject, membersOf, parseExactObject } from '../../../domain/shared/json.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import type { StreamMachine } from '../../../domain/shared/stream-machine.ts';
import { prematureEnd, streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import { failureInStream, type Sanitise } from '../../../domain/upstream/upstream-words.ts';
import { anotherMessageError, startsAnotherMessage } from './beginning.ts';
import { type MessagesFrame, readEvent } from './event.ts';

/** `new` until `message_start`, then the message of that event. */
type Phase = 'new' | { readonly begun: JsonObject } | 'over';
type Step = readonly [Phase, readonly MessagesEvent[]];

/**
 * A messages stream for callers of the messages API. Events are forwarded as the bytes that arrived. `message_stop` is
 * held back until the ledger row is committed. `vertex_event` is dropped, and so is a repeated `message_start`, because
 * clients fail on it. An `error` event, a malformed event, the start of another message, and an end before
 * `message_stop` are failures.
 */
export const nativeMessagesStream = (sanitise: Sanitise): StreamMachine<Phase, TextFrame, MessagesEvent> => ({
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
        return startsAnotherMessage(begins, phase.begun)
          ? over({ kind: 'failed', error: streamFailure(anotherMessageError) })
          : [phase, []];
      const passed = asCame(frame, event);
      return event.type === 'message_stop'
        ? over({ kind: 'chunk', ...passed, terminal: true, held: true }, { kind: 'done' })
        : [begins === undefined ? phase : { begun: begins }, [{ kind: 'chunk', ...passed, terminal: false }]];
    }
  }
}

type PassedOn = Pick<Extract<MessagesEvent, { kind: 'chunk' }>, 'chunk' | 'wire' | 'text'>;

/** The bytes as they arrived. An event without a name is written again with one, because clients dispatch on it. */
const asCame = (
  frame: TextFrame,
  { type, value, data }: Extract<MessagesFrame, { kind: 'event' }>,
): PassedOn =>
  frame.kind === 'frame' && frame.event === type
    ? { chunk: value, wire: frame.wire, text: data }
    : { chunk: parseExactObject(data), wire: undefined };
