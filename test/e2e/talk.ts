/** The requests of one public family, the pieces of its upstream's response, and what its client sees. */
export interface Talk {
  /** As in the request log. */
  readonly operation: 'chat_completions' | 'messages' | 'responses' | 'embeddings' | 'count_tokens';
  readonly path: string;
  readonly body: (stream: boolean, text?: string) => Readonly<Record<string, unknown>>;
  /** What the upstream sends; empty if the family has no such frame. */
  readonly upstream: {
    readonly begin: string;
    /** One piece of the text: `piece`. */
    readonly piece: string;
    /** The chunk that marks the response as complete. */
    readonly finish: string;
    /** The frame with the usage: 10 tokens in, 20 out. */
    readonly usage: string;
    readonly done: string;
    readonly error: string;
    /** The non-streamed response: `all`. */
    readonly whole: string;
  };
  /** Text that only a complete response contains. */
  readonly end: { readonly stream: string; readonly whole: string };
  /** Text at the end of a failed stream. */
  readonly failure: string;
}

const frame = (payload: object): string => `data: ${JSON.stringify(payload)}\n\n`;
const named = (type: string, members: object): string => `event: ${type}\n${frame({ type, ...members })}`;

const chatUsage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const chunk = (delta: object, finish_reason: string | null): string =>
  frame({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  });

const chatUpstream: Talk['upstream'] = {
  begin: chunk({ role: 'assistant', content: '' }, null),
  piece: chunk({ content: 'piece' }, null),
  finish: chunk({}, 'stop'),
  usage: frame({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    usage: chatUsage,
  }),
  done: 'data: [DONE]\n\n',
  error: frame({ error: { message: 'fell over' } }),
  whole: JSON.stringify({
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'all' }, finish_reason: 'stop' }],
    usage: chatUsage,
  }),
};

const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const response = (status: string, text?: string) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status,
  error: null,
  output: text === undefined ? [] : [message(text)],
  usage: text === undefined ? null : { input_tokens: 10, output_tokens: 20, total_tokens: 30 },
});

export const chat: Talk = {
  operation: 'chat_completions',
  path: '/v1/chat/completions',
  body: (stream, content = 'Hi') => ({ model: 'fast', stream, messages: [{ role: 'user', content }] }),
  upstream: chatUpstream,
  end: { stream: '[DONE]', whole: '"content":"all"' },
  failure: '{"error":{',
};

/** Its upstream protocol is chat. */
export const messages: Talk = {
  operation: 'messages',
  path: '/v1/messages',
  body: (stream, content = 'Hi') => ({
    model: 'fast',
    stream,
    max_tokens: 64,
    messages: [{ role: 'user', content }],
  }),
  upstream: chatUpstream,
  end: { stream: 'message_stop', whole: '"text":"all"' },
  failure: 'event: error\n',
};

export const responses: Talk = {
  operation: 'responses',
  path: '/v1/responses',
  body: (stream, input = 'Hi') => ({ model: 'fast', stream, input }),
  upstream: {
    begin: named('response.created', { sequence_number: 0, response: response('in_progress') }),
    piece: named('response.output_text.delta', {
      sequence_number: 1,
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'piece',
    }),
    finish: '',
    usage: named('response.completed', { sequence_number: 2, response: response('completed', 'piece') }),
    done: '',
    error: named('error', { sequence_number: 2, code: 'server_error', message: 'fell over', param: null }),
    whole: JSON.stringify(response('completed', 'all')),
  },
  end: { stream: 'response.completed', whole: '"text":"all"' },
  failure: 'event: error\n',
};

/** Embeddings are never streamed: of `upstream` only `whole` is used. */
export const embeddings: Talk = {
  ...chat,
  operation: 'embeddings',
  path: '/v1/embeddings',
  body: () => ({ model: 'fast', input: 'Hi' }),
  upstream: {
    ...chat.upstream,
    whole:
      '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"model":"m","usage":{"prompt_tokens":10,"total_tokens":10}}',
  },
};

export const talks: readonly Talk[] = [chat, messages, responses];

/** A complete streamed response of an upstream, with one piece of text. */
export const wholeStream = ({ upstream: { begin, piece, finish, usage, done } }: Talk): string =>
  begin + piece + finish + usage + done;
