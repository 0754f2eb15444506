/** What clients under load need to know about an API family. */
export interface LoadFamily {
  readonly path: string;
  readonly body: (asked: FamilyAsk) => object;
  /** Whether a stream is complete, including its terminal event. */
  readonly isDone: (text: string) => boolean;
  /** The text of an answer, whole or as far as a stream has come; undefined if the family has none. */
  readonly said: (text: string, stream: boolean) => string | undefined;
}

export interface FamilyAsk {
  readonly model: string;
  readonly stream: boolean;
  readonly text: string;
}

interface Json {
  readonly [name: string]: Json;
}

const streamed = ({ stream }: FamilyAsk): object => (stream ? { stream } : {});

/** The data of a stream's complete frames. */
const frames = (text: string): readonly Json[] =>
  text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((frame) => /^data: (\{.*)$/m.exec(frame)?.[1] ?? [])
    .map((data) => JSON.parse(data) as Json);

/** Texts at paths of a JSON value that may be missing. */
const texts = (values: readonly unknown[]): string =>
  values.filter((value) => typeof value === 'string').join('');

const chat: LoadFamily = {
  path: '/v1/chat/completions',
  body: (asked) => ({
    model: asked.model,
    messages: [{ role: 'user', content: asked.text }],
    ...(asked.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  isDone: (text) => text.endsWith('data: [DONE]\n\n'),
  said: (text, stream) =>
    stream
      ? texts(frames(text).map((frame) => frame['choices']?.['0']?.['delta']?.['content']))
      : texts([(JSON.parse(text) as Json)['choices']?.['0']?.['message']?.['content']]),
};

const messages: LoadFamily = {
  path: '/v1/messages',
  body: (asked) => ({
    model: asked.model,
    max_tokens: 1000,
    messages: [{ role: 'user', content: asked.text }],
    ...streamed(asked),
  }),
  isDone: (text) => /(?:^|\n)event: message_stop\ndata: .*\n\n/.test(text),
  said: (text, stream) =>
    stream
      ? texts(frames(text).map((frame) => frame['delta']?.['text']))
      : texts([(JSON.parse(text) as Json)['content']?.['0']?.['text']]),
};

const responses: LoadFamily = {
  path: '/v1/responses',
  body: (asked) => ({ model: asked.model, input: asked.text, ...streamed(asked) }),
  isDone: (text) => /(?:^|\n)event: response\.completed\ndata: .*\n\n/.test(text),
  said: (text, stream) =>
    stream
      ? texts(
          frames(text)
            .filter(({ type }) => Object.is(type, 'response.output_text.delta'))
            .map(({ delta }) => delta),
        )
      : texts([(JSON.parse(text) as Json)['output']?.['0']?.['content']?.['0']?.['text']]),
};

const embeddings: LoadFamily = {
  path: '/v1/embeddings',
  body: ({ model, text }) => ({ model, input: text }),
  isDone: () => false,
  said: () => undefined,
};

export const loadFamilies = { chat, messages, responses, embeddings };
export type LoadFamilyName = keyof typeof loadFamilies;
