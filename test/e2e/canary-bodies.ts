import { canary, odd, plain } from './canaries.ts';
import { streamed, whole } from './scene.ts';
import { chat, messages, responses, type Talk } from './talk.ts';

/** A URL of which scheme, host and path are stored, but not userinfo, query and fragment. */
export const url = (place: string): string =>
  `https://user:${canary(`${place}: userinfo`)}@host.example:8443/${plain(place)}/a.png?X-Sig=${encodeURIComponent(odd(`${place}: query`))}&t=${canary(`${place}: query`)}#${canary(`${place}: fragment`)}`;

const mixed = ['token', 'Access_Token', 'refresh-token', 'API-Key', 'client_SECRET', 'Credentials'] as const;
const more = [
  'private-key',
  'SECRET',
  'Password',
  'ANTHROPIC_API_KEY',
  'authorization',
  'X-Api-Key',
] as const;

/** Redacted keys in upper, lower and mixed case, with values of several types and depths. */
const underKeys = (place: string): object => ({
  [plain(place)]: plain(place),
  ...Object.fromEntries(mixed.map((key) => [key, odd(`${place}: ${key}`)])),
  deep: [
    { deeper: Object.fromEntries(more.map((key) => [key, { in: [odd(`${place}: ${key}, nested`)] }])) },
    [[{ credentials: [canary(`${place}: in arrays`), { password: canary(`${place}: in arrays`) }] }]],
  ],
});

const pem = (place: string): string =>
  `-----BEGIN PRIVATE KEY-----\nMIIE${canary(place)}\n${canary(place)}==\n-----END PRIVATE KEY-----\n`;

const serviceAccount = (place: string): object => ({
  type: 'service_account',
  project_id: plain(place),
  private_key: pem(`${place}: key material`),
  token_uri: `https://oauth.example/token?x=${canary(`${place}: token_uri`)}`,
});

/** JSON in a string, as in tool arguments and tool results, with more JSON in its strings. */
export const inJson = (place: string): string =>
  JSON.stringify({
    [plain(place)]: plain(place),
    ...underKeys(`${place}, JSON`),
    image_url: url(`${place}, JSON: image_url`),
    again: JSON.stringify({
      'API-KEY': odd(`${place}, JSON in JSON`),
      account: serviceAccount(`${place}, JSON in JSON`),
      error: { message: `GET ${url(`${place}, JSON in JSON: error`)} failed` },
      once_more: JSON.stringify({ password: odd(`${place}, JSON in JSON in JSON`) }, null, 2),
    }),
  });

const mcpTools = (place: string): object[] => [
  {
    type: 'mcp',
    server_label: plain(place),
    server_url: url(`${place}: server_url`),
    authorization: canary(`${place}: mcp authorization`),
    headers: {
      Authorization: `Bearer ${canary(`${place}: mcp header`)}`,
      'X-API-Key': canary(`${place}: mcp`),
    },
  },
];

const chatBody = (): object => ({
  messages: [
    { role: 'system', content: plain() },
    {
      role: 'user',
      content: [
        { type: 'text', text: plain() },
        { type: 'image_url', image_url: { url: url('chat: image_url object'), detail: 'low' } },
        { type: 'image_url', image_url: url('chat: image_url string') },
        { type: 'video_url', video_url: { url: url('chat: video_url object') } },
        { type: 'input_audio', input_audio: { data: url('chat: input_audio'), format: 'wav' } },
        { type: 'file', file: { file_url: url('chat: file_url'), file_data: url('chat: file_data') } },
      ],
    },
    {
      role: 'assistant',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'f', arguments: inJson('chat: arguments') } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: inJson('chat: tool result') },
    {
      role: 'tool',
      tool_call_id: 'c2',
      content: [{ type: 'text', text: `\`\`\`json\n${inJson('chat: tool result in text')}\n\`\`\`` }],
    },
  ],
  tools: [{ type: 'function', function: { name: 'f', parameters: {} } }, ...mcpTools('chat')],
  metadata: underKeys('chat: metadata'),
  [plain()]: serviceAccount('chat: key file'),
});

const responsesBody = (): object => ({
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: plain() },
        { type: 'input_image', image_url: url('responses: image_url') },
        { type: 'input_image', image_url: { url: url('responses: image_url object') } },
        { type: 'input_file', file_url: url('responses: file_url'), filename: plain() },
      ],
    },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: inJson('responses: arguments') },
    { type: 'function_call_output', call_id: 'c1', output: inJson('responses: output') },
    { type: 'computer_call_output', call_id: 'c2', output: { image_url: url('responses: computer') } },
  ],
  tools: mcpTools('responses'),
  metadata: underKeys('responses: metadata'),
  [plain()]: serviceAccount('responses: key file'),
});

const messagesContent = (place: string): object[] => [
  { type: 'text', text: plain() },
  { type: 'image', source: { type: 'url', url: url(`${place}: image source`) } },
];

const messagesBody = (): object => ({
  messages: [
    { role: 'user', content: messagesContent('messages') },
    {
      role: 'assistant',
      content: [
        {
          type: 'tool_use',
          id: 't1',
          name: 'f',
          input: { ...underKeys('messages: input'), json: inJson('messages: input') },
        },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', content: inJson('messages: tool result') },
        {
          type: 'tool_result',
          tool_use_id: 't1',
          is_error: true,
          content: `Could not get ${url('messages: tool error')} at all`,
        },
      ],
    },
  ],
  metadata: underKeys('messages: metadata'),
});

/** Content that cannot be sent to a chat-style upstream: the request is refused, and logged. */
export const messagesForItself = (): object => ({
  messages: [
    {
      role: 'user',
      content: [
        { type: 'document', source: { type: 'url', url: url('messages: document source') } },
        { type: 'search_result', source: url('messages: source string') },
      ],
    },
  ],
  mcp_servers: [
    {
      type: 'url',
      url: url('messages: mcp url'),
      name: 'm',
      authorization_token: canary('messages: mcp token'),
    },
  ],
});

const embeddingsBody = (): object => ({
  model: 'fast',
  input: [plain(), { type: 'image_url', image_url: { url: url('embeddings: image_url') } }],
  ...underKeys('embeddings'),
  instruction: inJson('embeddings: JSON'),
});

export const embeddings = { ...chat, path: '/v1/embeddings', body: () => ({}) } as unknown as Talk;

type Family = readonly [name: string, talk: Talk, body: () => object, stream: boolean];
export const families: readonly Family[] = [
  ['chat completions', chat, chatBody, false],
  ['chat completions, streamed', chat, chatBody, true],
  ['responses', responses, responsesBody, false],
  ['responses, streamed', responses, responsesBody, true],
  ['messages', messages, messagesBody, false],
  ['messages, streamed', messages, messagesBody, true],
  ['embeddings', embeddings, embeddingsBody, false],
];

const toolCalls = (place: string): object[] => [
  { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: inJson(`${place}: arguments`) } },
];

/** A whole answer with secrets in many places, for each path. */
const wholeAnswers: Readonly<Record<string, () => object>> = {
  [chat.path]: () => ({
    ...JSON.parse(chat.upstream.whole),
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: {
          role: 'assistant',
          content: plain(),
          tool_calls: toolCalls('chat answer'),
          images: [{ type: 'image_url', image_url: { url: url('chat answer: images') } }],
          annotations: [{ type: 'url_citation', url_citation: { url: url('chat answer: citation') } }],
        },
      },
    ],
    debug: underKeys('chat answer'),
    last_error: `Tried ${url('chat answer: last_error')} first`,
  }),
  [responses.path]: () => ({
    ...JSON.parse(responses.upstream.whole),
    output: [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: inJson('responses answer: arguments') },
      {
        type: 'message',
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: plain(),
            annotations: [{ type: 'url_citation', url: url('responses answer: citation') }],
          },
        ],
      },
      {
        type: 'mcp_call',
        server_url: url('responses answer: mcp'),
        error: `At ${url('responses answer: error')}`,
      },
    ],
    tools: mcpTools('responses answer'),
    metadata: underKeys('responses answer'),
  }),
  [embeddings.path]: () => ({
    object: 'list',
    data: [{ index: 0, embedding: [0.5] }],
    model: plain(),
    usage: { prompt_tokens: 1, total_tokens: 1 },
    debug: underKeys('embeddings answer'),
    source: url('embeddings answer: source'),
  }),
};
export const wholeAnswer = ({ path }: Talk): object =>
  (wholeAnswers[path] ?? wholeAnswers[chat.path])?.() ?? {};

export const frame = (payload: object): string => `data: ${JSON.stringify(payload)}\n\n`;
export const named = (type: string, members: object): string =>
  `event: ${type}\n${frame({ type, ...members })}`;

/** Splits a text into pieces, as a stream sends it. */
export const inPieces = (text: string, chars: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / chars) }, (_, index) =>
    text.slice(index * chars, (index + 1) * chars),
  );

/** A stream whose deltas hold secrets, in one frame and across frames. */
function streamedAnswer({ path, upstream: { begin, finish, usage, done } }: Talk): string {
  if (path === responses.path) {
    const place = { item_id: 'i', output_index: 0, content_index: 0 };
    const split = inPieces(inJson('responses stream: arguments'), 7).map((delta) =>
      named('response.function_call_arguments.delta', { item_id: 'i', output_index: 1, delta }),
    );
    const item = {
      type: 'function_call',
      name: 'f',
      call_id: 'c',
      arguments: inJson('responses stream: item'),
    };
    return [
      begin,
      named('response.output_text.delta', { ...place, delta: plain() }),
      ...split,
      named('response.output_item.done', { output_index: 1, item }),
      named('response.image', {
        image_url: url('responses stream: image_url'),
        ...underKeys('responses stream'),
      }),
      usage,
    ].join('');
  }
  const delta = (members: object): string =>
    frame({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: members }] });
  const split = inPieces(inJson('chat stream: arguments'), 7).map((text, index) =>
    delta({
      tool_calls: [
        { index: 0, ...(index === 0 ? { id: 'c1' } : {}), function: { name: 'f', arguments: text } },
      ],
    }),
  );
  return [
    begin,
    delta({ content: plain() }),
    ...split,
    delta({ images: [{ image_url: { url: url('chat stream: image_url') } }], ...underKeys('chat stream') }),
    finish,
    usage,
    done,
  ].join('');
}

export const answerOf = (talk: Talk, stream: boolean) =>
  stream ? streamed(streamedAnswer(talk)) : whole(wholeAnswer(talk));
