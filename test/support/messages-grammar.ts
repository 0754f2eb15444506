type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The deltas that each block accepts, and its initial content. */
const blocks: Readonly<
  Record<string, { readonly delta: string; readonly field: string; readonly empty: Fields }>
> = {
  text: { delta: 'text_delta', field: 'text', empty: { text: '' } },
  thinking: { delta: 'thinking_delta', field: 'thinking', empty: { thinking: '', signature: '' } },
  tool_use: { delta: 'input_json_delta', field: 'partial_json', empty: { input: {} } },
};

/** Allowed stop reasons. */
export const stopReasons = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'compaction',
  'refusal',
  'model_context_window_exceeded',
] as const;
const counts = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'];

/** Token counts that clients require: present and not null. */
const usageFault = (usage: unknown): string | undefined => {
  if (!isFields(usage)) return 'there is no usage';
  const missing = counts.find((count) => !Number.isSafeInteger(usage[count]) || Number(usage[count]) < 0);
  return missing === undefined ? undefined : `usage.${missing} is no token count`;
};

/**
 * The fault of a messages stream's events, as clients read them; undefined if there is none. A stream ends
 * with `message_stop`, or with an `error` at any position.
 */
export function grammarFault(events: readonly unknown[]): string | undefined {
  const reader = new Reader();
  for (const [at, event] of events.entries()) {
    const fault = isFields(event) ? reader.read(event) : 'it is no object';
    if (fault !== undefined) return `event ${at}: ${fault}`;
  }
  return reader.over ? undefined : 'the stream ends before message_stop';
}

/** A message at the start of a stream: named, and still empty. */
function messageFault(message: Fields): string | undefined {
  const { id, model, content, usage } = message;
  if (typeof id !== 'string' || id === '' || typeof model !== 'string')
    return 'a message without id or model';
  for (const [field, value] of Object.entries(begins))
    if (message[field] !== value) return `a message that begins with another ${field}`;
  if (!Array.isArray(content) || content.length > 0) return 'a message that begins with content';
  // Some clients add the output tokens of both ends of the stream.
  if (isFields(usage) && usage['output_tokens'] !== 0) return 'output tokens before there is output';
  return usageFault(usage);
}

const begins: Fields = { type: 'message', role: 'assistant', stop_reason: null, stop_sequence: null };

const isNamed = ({ id, name }: Fields): boolean =>
  typeof id === 'string' && id !== '' && typeof name === 'string';

class Reader {
  over = false;
  private phase: 'new' | 'begun' | 'told' = 'new';
  private open: string | undefined;
  private index = -1;

  read(event: Fields): string | undefined {
    const { type } = event;
    if (this.over) return `${String(type)} comes after the end`;
    if (type === 'error') return this.error(event);
    if (type === 'message_start') return this.start(event['message']);
    if (this.phase === 'new') return `${String(type)} comes before message_start`;
    if (type === 'ping') return undefined;
    if (type === 'message_stop') return this.stop();
    if (this.phase === 'told') return `${String(type)} comes after message_delta`;
    if (type === 'message_delta') return this.messageDelta(event);
    return this.block(event);
  }

  private error({ error }: Fields): string | undefined {
    this.over = true;
    return isFields(error) && typeof error['type'] === 'string' && typeof error['message'] === 'string'
      ? undefined
      : 'an error without type and message';
  }

  private start(message: unknown): string | undefined {
    if (this.phase !== 'new') return 'a second message_start';
    this.phase = 'begun';
    return isFields(message) ? messageFault(message) : 'message_start without a message';
  }

  private stop(): string | undefined {
    this.over = true;
    return this.phase === 'told' ? undefined : 'message_stop without message_delta';
  }

  private messageDelta({ delta, usage }: Fields): string | undefined {
    if (this.open !== undefined) return 'message_delta while a block is open';
    this.phase = 'told';
    if (!isFields(delta) || !stopReasons.some((reason) => reason === delta['stop_reason']))
      return 'no stop reason that clients know';
    if (delta['stop_sequence'] !== null) return 'a stop sequence that nobody told';
    return usageFault(usage);
  }

  private block(event: Fields): string | undefined {
    switch (event['type']) {
      case 'content_block_start':
        return this.blockStart(event);
      case 'content_block_delta':
        return this.blockDelta(event);
      case 'content_block_stop':
        if (this.open === undefined || event['index'] !== this.index)
          return 'the end of a block that is not open';
        this.open = undefined;
        return undefined;
      default:
        return `an event of the type ${String(event['type'])}`;
    }
  }

  private blockStart({ index, content_block: block }: Fields): string | undefined {
    if (this.open !== undefined) return 'a block begins while another one is open';
    this.index += 1;
    if (index !== this.index) return `a block has the index ${String(index)} instead of ${this.index}`;
    const type = isFields(block) ? String(block['type']) : '';
    const shape = Object.hasOwn(blocks, type) ? blocks[type] : undefined;
    if (!isFields(block) || shape === undefined) return `a block of the type ${type}`;
    for (const [field, empty] of Object.entries(shape.empty))
      if (JSON.stringify(block[field]) !== JSON.stringify(empty)) return `a block that begins with ${field}`;
    if (type === 'tool_use' && !isNamed(block)) return 'a tool_use block without id or name';
    this.open = type;
    return undefined;
  }

  private blockDelta({ index, delta }: Fields): string | undefined {
    const shape = this.open === undefined ? undefined : blocks[this.open];
    if (shape === undefined || index !== this.index) return 'a delta of a block that is not open';
    if (!isFields(delta) || delta['type'] !== shape.delta) return `another delta than ${shape.delta}`;
    return typeof delta[shape.field] === 'string' ? undefined : `a delta without ${shape.field}`;
  }
}
