import type { MessagesEvent } from '../../../domain/messages/block-writer.ts';
import { parseExactObject } from '../../../domain/shared/json.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import type { StreamMachine } from '../../../domain/shared/stream-machine.ts';
import { prematureEnd } from '../../../domain/upstream/upstream-fault.ts';
import { failureInStream } from '../../../domain/upstream/upstream-words.ts';
import { type MessagesFrame, readEvent } from './event.ts';

type Phase = 'open' | 'over';
type Step = readonly [Phase, readonly MessagesEvent[]];

/**
 * A messages stream for callers who speak the same: events go out as the bytes that came, `vertex_event` is dropped,
 * and `message_stop` is held back until the ledger row is committed. An `error` event, a malformed one, and an end
 * before `message_stop` are failures.
 */
export const nativeMessagesStream = (
  sanitise: (message: string) => string,
): StreamMachine<Phase, TextFrame, MessagesEvent> => ({
  start: () => 'open',
  step: (phase, frame) => (phase === 'over' ? [phase, []] : stepEvent(frame, readEvent(frame, sanitise))),
  end: (phase, ending) => (phase === 'over' ? [] : [{ kind: 'failed', error: prematureEnd(ending) }]),
});

const over = (...events: readonly MessagesEvent[]): Step => ['over', events];

function stepEvent(frame: TextFrame, event: MessagesFrame): Step {
  switch (event.kind) {
    case 'nothing':
      return ['open', []];
    case 'fault':
      return over({ kind: 'failed', error: failureInStream(event) });
    case 'end':
      return over({ kind: 'failed', error: prematureEnd({ kind: 'eof' }) });
    case 'event': {
      const passed = asCame(frame, event);
      return event.type === 'message_stop'
        ? over({ kind: 'chunk', ...passed, terminal: true, held: true }, { kind: 'done' })
        : ['open', [{ kind: 'chunk', ...passed, terminal: false }]];
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
