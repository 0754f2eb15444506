import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Environment variable that names the folder of recordings. */
const FOLDER_VARIABLE = 'RECORDINGS';

const root = path.join(import.meta.dirname, '..', '..');

/** The folder of recordings, which are not part of the project because others hold the rights to them. */
const recordingsFolder = path.resolve(
  root,
  process.env[FOLDER_VARIABLE] ?? path.join('..', 'shared', 'fixtures'),
);

/** The reason why there are no recordings to replay; undefined if there are. */
export const noRecordings: string | undefined = existsSync(recordingsFolder)
  ? undefined
  : `the recordings are left out: there is no folder ${recordingsFolder} (set ${FOLDER_VARIABLE})`;

/** A text as the metadata describe it. */
export interface TextFacts {
  /** UTF-16 units. */
  readonly chars: number;
  /** Of the UTF-8 text, in hex. */
  readonly sha256: string;
}

export interface ToolCallFacts {
  readonly key?: string;
  readonly id?: string | null;
  readonly name?: string | null;
  readonly argumentsSha256: string;
}

export interface UsageFacts {
  readonly prompt_tokens?: number | undefined;
  readonly completion_tokens?: number | undefined;
  readonly total_tokens?: number | undefined;
}

export interface ChatStreamFacts {
  readonly protocol: 'chat-stream';
  /** JSON payloads. */
  readonly chunks: number;
  readonly choices: Readonly<
    Record<
      string,
      {
        readonly finish_reason: string | null;
        readonly text: TextFacts;
        readonly reasoning?: TextFacts;
        readonly reasoningKeys?: readonly string[];
      }
    >
  >;
  readonly toolCalls?: readonly ToolCallFacts[];
  readonly usage?: UsageFacts;
  readonly xGroqUsage?: UsageFacts;
  readonly error?: { readonly message?: string; readonly code?: string };
  /** Absent for payload lists, whose framing is lost. */
  readonly sse?: { readonly done: boolean };
}

export interface ChatFacts {
  readonly protocol: 'chat';
  readonly choices: readonly {
    readonly finish_reason: string | null;
    readonly text: TextFacts;
    readonly toolCalls?: readonly ToolCallFacts[];
  }[];
  readonly usage?: UsageFacts;
}

export interface ResponsesUsageFacts {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
}

/** A response object as the metadata describe it. */
export interface ResponseObjectFacts {
  readonly status?: string;
  /** The types of its output items, in order. */
  readonly items: readonly string[];
  /** Of all output texts. */
  readonly text: TextFacts;
  readonly functionCalls: readonly (ToolCallFacts & { readonly call_id: string })[];
  readonly usage: ResponsesUsageFacts | null;
}

export interface ResponsesStreamFacts {
  readonly protocol: 'responses-stream';
  readonly eventTypes: Readonly<Record<string, number>>;
  readonly firstType: string;
  /** Of the last response. */
  readonly responseId: string;
  readonly deltaText: TextFacts;
  readonly terminal: string;
  readonly final: ResponseObjectFacts;
  /** Of the `error` event. */
  readonly error?: { readonly code?: string; readonly message: string };
}

export interface ResponseFacts extends ResponseObjectFacts {
  readonly protocol: 'responses';
  readonly id: string;
}

export interface EmbeddingsFacts {
  readonly protocol: 'embeddings';
  readonly count: number;
  readonly indexes: readonly number[];
  readonly dims: number;
  /** The JSON type of a vector: an array, or base64 text. */
  readonly encoding: 'object' | 'string';
  readonly usage: UsageFacts;
}

/** Token counts as the platform reports them. */
export interface ContentUsageFacts {
  readonly promptTokenCount?: number;
  readonly toolUsePromptTokenCount?: number;
  readonly candidatesTokenCount?: number;
  readonly thoughtsTokenCount?: number;
  readonly totalTokenCount?: number;
}

/** A generate-content answer, whole or streamed; `functionCalls` is a number where there are many. */
export interface ContentFacts {
  readonly protocol: 'gemini' | 'gemini-stream' | 'gemini-stream-json-array';
  readonly text: TextFacts;
  readonly thoughts?: TextFacts;
  readonly finishReason: string | number;
  readonly functionCalls?:
    | readonly { readonly id?: string; readonly name?: string; readonly args?: object }[]
    | number;
  readonly usage?: ContentUsageFacts;
}

/** Token counts as a messages upstream reports them. */
export interface MessagesUsageFacts {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
}

export interface MessagesStreamFacts {
  readonly protocol: 'messages-stream';
  readonly eventTypes: Readonly<Record<string, number>>;
  readonly blocks: readonly {
    readonly index: number;
    readonly type: string;
    readonly id?: string;
    readonly name?: string;
    readonly thinking?: TextFacts;
    readonly signatureChars?: number;
    readonly inputJsonSha256?: string;
  }[];
  /** Of all text blocks. */
  readonly text: TextFacts;
  readonly stop_reason: string;
  readonly startUsage: MessagesUsageFacts;
  readonly deltaUsage: MessagesUsageFacts;
}

export interface MessagesFacts {
  readonly protocol: 'messages';
  readonly stop_reason: string;
  readonly text: TextFacts;
  readonly thinking?: TextFacts;
  /** The types of the content blocks, in order. */
  readonly blocks: readonly string[];
  readonly toolUses: readonly { readonly id: string; readonly name: string; readonly input: object }[];
  readonly usage: MessagesUsageFacts;
}

export interface ErrorFacts {
  readonly protocol: 'error';
  /** The upstream's own message, cut at 200 characters; absent when the body is not JSON. */
  readonly message?: string;
}

/** A recorded response with the facts that an independent decoder read from it. */
export interface Recording<Facts> {
  readonly name: string;
  /** The response body as an upstream sends it, with payload lists framed. */
  readonly body: Buffer;
  /** Undefined where the recorder did not keep it. */
  readonly status: number | undefined;
  readonly contentType: string | undefined;
  readonly features: readonly string[];
  readonly facts: Facts;
}

/** Rows for `it.each`. */
export const named = <R extends Pick<Recording<unknown>, 'name'>>(recordings: readonly R[]): [string, R][] =>
  recordings.map((recording) => [recording.name, recording]);

interface Meta extends Omit<Recording<{ readonly protocol?: string }>, 'body'> {
  readonly file: string;
}

/** All recordings of chat-completions paths, in the order of their names. */
export function chatRecordings() {
  const all = metadata();
  return {
    streams: all.filter(isOf<ChatStreamFacts>('chat-stream')).map(withBody(chatFraming)),
    answers: all.filter(isOf<ChatFacts>('chat')).map(withBody()),
    refusals: refusalsUnder('chat', all),
  };
}

/** All recordings of responses paths. A list of payloads occurs once in each framing that upstreams use. */
export function responsesRecordings() {
  const all = metadata();
  const streams = all.filter(isOf<ResponsesStreamFacts>('responses-stream'));
  return {
    streams: streams.flatMap((meta) =>
      isPayloadList(meta)
        ? Object.entries(responsesFramings).map(([framing, frame]) => ({
            ...withBody<ResponsesStreamFacts>(frame)(meta),
            name: `${meta.name}, ${framing}`,
          }))
        : [withBody<ResponsesStreamFacts>()(meta)],
    ),
    answers: all.filter(isOf<ResponseFacts>('responses')).map(withBody()),
    refusals: refusalsUnder('responses', all),
  };
}

/** All recordings of embeddings paths. */
export function embeddingsRecordings() {
  const all = metadata();
  return {
    answers: all.filter(isOf<EmbeddingsFacts>('embeddings')).map(withBody()),
    refusals: refusalsUnder('embeddings', all),
  };
}

/** All recordings of generate-content paths. */
export function contentRecordings() {
  const all = metadata();
  return {
    streams: [
      ...all.filter(isOf<ContentFacts>('gemini-stream')),
      ...all.filter(isOf<ContentFacts>('gemini-stream-json-array')),
    ].map(withBody(contentFraming)),
    answers: all.filter(isOf<ContentFacts>('gemini')).map(withBody()),
    refusals: refusalsUnder('generate-content', all),
  };
}

/** All recordings of messages paths, and of platforms that answer in the messages format. */
export function messagesRecordings() {
  const all = metadata();
  return {
    streams: all
      .filter(isOf<MessagesStreamFacts>('messages-stream'))
      .map(withBody(responsesFramings['names first'])),
    answers: all.filter(isOf<MessagesFacts>('messages')).map(withBody()),
    refusals: refusalsUnder('messages', all).filter(({ name }) => name.includes('/messages/')),
  };
}

/** All recordings of one protocol, with the framing of the upstream where it was not recorded. */
export const recordingsOf = <Facts extends { readonly protocol: string }>(
  protocol: Facts['protocol'],
  framing?: Framing,
): readonly Recording<Facts>[] => metadata().filter(isOf<Facts>(protocol)).map(withBody<Facts>(framing));

/** The errors that were recorded below a folder. */
export const refusalsIn = (folder: string): readonly Recording<ErrorFacts>[] =>
  recordingsOf<ErrorFacts>('error').filter(({ name }) => name.startsWith(`${folder}/`));

type MetaOf<Facts> = Omit<Meta, 'facts'> & { readonly facts: Facts };

const isOf =
  <Facts extends { readonly protocol: string }>(protocol: Facts['protocol']) =>
  (meta: Meta): meta is Meta & MetaOf<Facts> =>
    meta.facts.protocol === protocol;

/** `PROVIDER/chat/error/NAME`, `PROVIDER/openai-compat-chat/error/NAME`. */
const refusalsUnder = (family: string, all: readonly Meta[]): readonly Recording<ErrorFacts>[] =>
  all
    .filter(isOf<ErrorFacts>('error'))
    .filter(({ name }) =>
      name.split('/').some((segment) => segment === family || segment.endsWith(`-${family}`)),
    )
    .map(withBody());

const suffix = '.meta.json';

const metadata = (): readonly Meta[] =>
  (noRecordings === undefined ? readdirSync(recordingsFolder, { recursive: true, encoding: 'utf8' }) : [])
    .filter((file) => file.endsWith(suffix))
    .sort()
    .map((file) => {
      const meta = JSON.parse(readFileSync(path.join(recordingsFolder, file), 'utf8')) as Meta;
      return {
        ...meta,
        name: file.slice(0, -suffix.length).replaceAll('\\', '/'),
        file: path.join(recordingsFolder, path.dirname(file), path.basename(meta.file)),
      };
    });

const isPayloadList = ({ file }: Pick<Meta, 'file'>): boolean => file.endsWith('.payloads.jsonl');

/** Rebuilds a stream from its payloads, whose framing was not recorded. */
type Framing<Stream = string | Buffer> = (payloads: readonly string[]) => Stream;

const withBody =
  <Facts>(framing: Framing = chatFraming) =>
  (meta: MetaOf<Facts>): Recording<Facts> => {
    const stored = readFileSync(meta.file);
    if (!isPayloadList(meta)) return { ...meta, body: stored };
    const payloads = stored
      .toString('utf8')
      .split('\n')
      .filter((payload) => payload.trim() !== '');
    const framed = framing(payloads);
    return { ...meta, body: typeof framed === 'string' ? Buffer.from(framed) : framed };
  };

const chatFraming: Framing<string> = (payloads) =>
  [...payloads, '[DONE]'].map((payload) => `data: ${payload}\n\n`).join('');

/** The stream has no terminal event: it ends with its bytes. */
const contentFraming: Framing = (payloads) => payloads.map((payload) => `data: ${payload}\r\n\r\n`).join('');

const typeIn = (payload: string): string => (JSON.parse(payload) as { readonly type: string }).type;

const responsesFramings: Readonly<Record<string, Framing>> = {
  'names first': (payloads) =>
    payloads.map((payload) => `event: ${typeIn(payload)}\ndata: ${payload}\n\n`).join(''),
  'names last': (payloads) =>
    payloads.map((payload) => `data: ${payload}\nevent: ${typeIn(payload)}\n\n`).join(''),
  'no names, comments and [DONE]': (payloads) => `: \n\n${chatFraming(payloads)}`,
};
