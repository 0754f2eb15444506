import type { Directives, Terminal } from './directives.ts';
import { type ErrorAnswer, errorInside } from './error-answer.ts';
import type { JsonObject } from './json-object.ts';
import { digitsJson } from './raw-json.ts';
import type { ResponsesRequest } from './responses-request.ts';
import { joined, type Pieces } from './text.ts';
import type { ToolCall } from './tool-calls.ts';
import { planTurn, type Turn } from './turn.ts';
import { responsesUsageJson } from './usage.ts';

/** Everything about a response except its time. Members that end in `Json` are JSON text. */
export interface ResponsesPlan extends Turn {
  readonly id: string;
  /** The stem of the ids of items. */
  readonly stem: string;
  readonly request: ResponsesRequest;
  /** How the response ends; `undefined` when it never does. */
  readonly terminal: Terminal | undefined;
  readonly status: string;
  /** The error in a failed response. */
  readonly error: ErrorAnswer;
  readonly usageJson: string;
  readonly digitsJson: string;
  /** Whether a streamed response is followed by `[DONE]`. */
  readonly done: boolean;
}

const failures: readonly (Terminal | undefined)[] = ['failed', 'error-failed'];

/** Whether a response reports itself as failed. */
const hasFailed = ({ terminal }: Pick<ResponsesPlan, 'terminal'>): boolean => failures.includes(terminal);

/** Plans the answer to a responses request. `serial` is the number of the request. */
export function planResponse(
  request: ResponsesRequest,
  directives: Directives,
  serial: number,
): ResponsesPlan {
  const stem = `sim_${serial.toString(36)}`;
  const turn = planTurn(request, directives, `call_${stem}`);
  const terminal = directives['no-finish'] === true ? undefined : (directives.terminal ?? 'completed');
  const failed = hasFailed({ terminal });
  const usagePlace = directives.usage ?? (failed ? 'none' : 'last');
  return {
    ...turn,
    id: directives.id ?? `resp_${stem}`,
    stem,
    request,
    terminal,
    status: directives.finish ?? (failed ? 'failed' : (terminal ?? 'in_progress')),
    error: errorInside(directives),
    usageJson: usagePlace === 'none' ? 'null' : responsesUsageJson(turn.counts, directives),
    digitsJson: digitsJson(directives),
    done: directives.done === true,
  };
}

/** The status of items that are as complete as their response. */
const itemStatus = ({ terminal }: ResponsesPlan): string =>
  terminal === undefined || terminal === 'completed' ? 'completed' : 'incomplete';

/** A part of an item that holds text. */
export const textPart = (text: string): JsonObject => ({
  type: 'output_text',
  annotations: [],
  logprobs: [],
  text,
});

/** A part of a reasoning item's summary. */
export const summaryPart = (text: string): JsonObject => ({ type: 'summary_text', text });

/** A reasoning item with the given summary. */
export const reasoningItem = (plan: ResponsesPlan, summary: readonly JsonObject[]): JsonObject => ({
  id: `rs_${plan.stem}`,
  type: 'reasoning',
  ...(plan.request.encryptedReasoning ? { encrypted_content: 'c2ltdWxhdGVk' } : {}),
  summary,
});

/** A message item. Without text it has just started. */
export const messageItem = (plan: ResponsesPlan, text?: string): JsonObject => ({
  id: `msg_${plan.stem}`,
  type: 'message',
  status: text === undefined ? 'in_progress' : itemStatus(plan),
  content: text === undefined ? [] : [textPart(text)],
  role: 'assistant',
});

/** A function-call item. Without arguments it has just started. */
export const callItem = (
  plan: ResponsesPlan,
  index: number,
  { id, name, namespace }: ToolCall,
  text?: string,
): JsonObject => ({
  id: `fc_${plan.stem}_${index}`,
  type: 'function_call',
  status: text === undefined ? 'in_progress' : itemStatus(plan),
  arguments: text ?? '',
  call_id: id,
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

const reasoningOutput = (plan: ResponsesPlan, reasoning: Pieces | undefined): readonly JsonObject[] =>
  reasoning === undefined ? [] : [reasoningItem(plan, [summaryPart(joined(reasoning))])];

/** All items of a response, as complete as it is. */
const outputOf = (plan: ResponsesPlan): readonly JsonObject[] => [
  ...reasoningOutput(plan, plan.reasoning),
  ...(plan.toolCalls.length > 0
    ? plan.toolCalls.map((call, index) => callItem(plan, index, call, call.arguments))
    : [messageItem(plan, joined(plan.content))]),
];

interface Stage {
  readonly status: string;
  readonly output: readonly JsonObject[];
  readonly error: JsonObject | null;
  readonly incompleteDetails: JsonObject | null;
  readonly completedAtSecs: number | null;
  readonly usageJson: string;
}

const responseJson = (plan: ResponsesPlan, createdSecs: number, stage: Stage): string => {
  const members = JSON.stringify({
    id: plan.id,
    object: 'response',
    created_at: createdSecs,
    status: stage.status,
    background: false,
    completed_at: stage.completedAtSecs,
    error: stage.error,
    incomplete_details: stage.incompleteDetails,
    model: plan.request.model,
    ...plan.request.echoed,
    service_tier: 'default',
    output: stage.output,
  });
  return `${members.slice(0, -1)},"usage":${stage.usageJson}${plan.digitsJson}}`;
};

/** The JSON text of a response that has just started. */
export const begunResponseJson = (plan: ResponsesPlan, createdSecs: number): string =>
  responseJson(plan, createdSecs, {
    status: 'in_progress',
    output: [],
    error: null,
    incompleteDetails: null,
    completedAtSecs: null,
    usageJson: 'null',
  });

/** The JSON text of a response at its end. A failed one has no output. */
export const endedResponseJson = (plan: ResponsesPlan, createdSecs: number): string =>
  responseJson(plan, createdSecs, {
    status: plan.status,
    output: hasFailed(plan) ? [] : outputOf(plan),
    error: hasFailed(plan) ? { code: 'server_error', message: plan.error.message } : null,
    incompleteDetails: plan.terminal === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    completedAtSecs: plan.terminal === 'completed' ? createdSecs : null,
    usageJson: plan.usageJson,
  });
