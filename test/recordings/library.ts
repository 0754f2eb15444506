import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Environment variable that names the folder of recordings. */
const FOLDER_VARIABLE = 'RECORDINGS';

const root = path.join(import.meta.dirname, '..', '..');

/** The folder of recordings: not part of the project, because others hold the rights to what is in it. */
export const recordingsFolder = path.resolve(
  root,
  process.env[FOLDER_VARIABLE] ?? path.join('..', 'shared', 'fixtures'),
);

/** Why there are no recordings to replay; undefined when there are. */
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
  readonly error?: { readonly message?: string };
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

export interface ErrorFacts {
  readonly protocol: 'error';
  /** The upstream's own message, cut at 200 characters; absent when the body is not JSON. */
  readonly message?: string;
}

/** A recorded response with the facts that an independent decoder read off it. */
export interface Recording<Facts> {
  readonly name: string;
  /** The response body as an upstream sends it: payload lists are framed. */
  readonly body: Buffer;
  /** Undefined where the recorder did not keep it. */
  readonly status: number | undefined;
  readonly contentType: string | undefined;
  readonly features: readonly string[];
  readonly facts: Facts;
}

interface Meta extends Omit<Recording<{ readonly protocol?: string }>, 'body'> {
  readonly file: string;
}

/** Everything below the folder that was recorded from a chat-completions path, in the order of the names. */
export function chatRecordings() {
  const all = noRecordings === undefined ? metadata() : [];
  return {
    streams: all.filter(isOf<ChatStreamFacts>('chat-stream')).map(withBody),
    answers: all.filter(isOf<ChatFacts>('chat')).map(withBody),
    refusals: all.filter(isOf<ErrorFacts>('error')).filter(underChatPath).map(withBody),
  };
}

type MetaOf<Facts> = Omit<Meta, 'facts'> & { readonly facts: Facts };

const isOf =
  <Facts extends { readonly protocol: string }>(protocol: Facts['protocol']) =>
  (meta: Meta): meta is Meta & MetaOf<Facts> =>
    meta.facts.protocol === protocol;

/** `PROVIDER/chat/error/NAME`, `PROVIDER/openai-compat-chat/error/NAME`. */
const underChatPath = ({ name }: { readonly name: string }): boolean =>
  name.split('/').some((segment) => segment === 'chat' || segment.endsWith('-chat'));

const suffix = '.meta.json';

const metadata = (): readonly Meta[] =>
  readdirSync(recordingsFolder, { recursive: true, encoding: 'utf8' })
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

function withBody<Facts>(meta: MetaOf<Facts>): Recording<Facts> {
  const stored = readFileSync(meta.file);
  const body = meta.file.endsWith('.payloads.jsonl') ? framed(stored.toString('utf8')) : stored;
  return { ...meta, body };
}

/** One payload a line becomes one event each; what the upstream's `[DONE]` was is lost with the framing. */
const framed = (payloads: string): Buffer =>
  Buffer.from(
    payloads
      .split('\n')
      .filter((payload) => payload.trim() !== '')
      .map((payload) => `data: ${payload}\n\n`)
      .concat('data: [DONE]\n\n')
      .join(''),
  );
