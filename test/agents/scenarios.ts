import type { Agent, Setup } from './agents.ts';
import type { Ended } from './execute.ts';
import { marker } from './marker.ts';
import { alone, type McpPlace, serverId, toolName, union } from './mcp.ts';
import type { SeenCall, SeenInvocation } from './stage.ts';

/** The data about a run that has ended. */
export interface Outcome {
  readonly ended: Ended;
  /** The agent's output to its user, without colours and surrounding white space. */
  readonly text: string;
  readonly calls: readonly SeenCall[];
  /** The records of calls of MCP tools. */
  readonly invocations: readonly SeenInvocation[];
  readonly setup: Setup;
}

/** A situation in which agents are tried. */
export interface Scenario {
  readonly name: string;
  readonly prompt: string;
  /** The directives of the simulated upstream, as in `x-simulate`; `file` is the path of the note. */
  readonly simulate: (agent: Agent, file: string) => Readonly<Record<string, string>>;
  /** The hard budget of the run's owner, in 1/10000 USD. */
  readonly budget: number;
  /** Milliseconds that an agent has from its first call. */
  readonly maxMs: number;
  /** Whether an agent may still be running when its time is over: it has then made no false claim. */
  readonly mayGoOn: boolean;
  /** Whether the agent has the owner's key, or an unknown one, whose calls have no row. */
  readonly hasKey: boolean;
  /** Whether the model that the agent requests exists. */
  readonly hasModel: boolean;
  /** Where the agent finds an MCP server; absent: it has none. */
  readonly mcp?: McpPlace;
  /** The reasons why the run failed; empty if it passed. */
  readonly faults: (outcome: Outcome) => readonly string[];
}

const unless = (holds: boolean, otherwise: string): readonly string[] => (holds ? [] : [otherwise]);

/** The simulated answers, complete from the first word to the last character. */
const wholeText = /This is a simulated answer; no model was asked\. .*"\.$/s;

const endedWell = ({ ended }: Outcome): readonly string[] =>
  unless(ended.timedOut || ended.code === 0, `exit code ${ended.code}`);

/** Every call has the agent's family and harness, and exactly one request-log row. */
const wellKnown = ({ calls, setup }: Outcome): readonly string[] => [
  ...unless(calls.length > 0, 'the gateway saw no call'),
  ...unless(
    calls.every(({ family }) => family === setup.family),
    'a call of another family',
  ),
  ...unless(
    calls.every(({ rows }) => rows === 1),
    'a call without its one request-log row',
  ),
  ...unless(
    calls.every(({ harness }) => harness === setup.harness),
    'another harness',
  ),
];

/** Every call succeeds, and is priced. */
const allServed = ({ calls }: Outcome): readonly string[] => [
  ...unless(
    calls.every(({ outcome }) => outcome === 'success'),
    'a call failed',
  ),
  ...unless(
    calls.every(({ pricing }) => pricing === 'priced'),
    'a call without its price',
  ),
];

/** More than a run costs: five dollars. */
const ample = 50_000;

const runMaxMs = 60_000;

/** Agents that do not give up at a refusal retry for ever; this time is enough to see it. */
const refusedMaxMs = 15_000;

/** This harness retries with growing pauses after every 429, regardless of headers and code. */
const goesByStatus = 'opencode';

/** However the agent handles the fault, it must not present a truncated text as an answer. */
const fault = (name: string, simulate: Readonly<Record<string, string>>): Scenario => ({
  name,
  prompt: 'Say hello.',
  simulate: () => simulate,
  budget: ample,
  maxMs: runMaxMs,
  mayGoOn: true,
  hasKey: true,
  hasModel: true,
  faults: (outcome) => {
    const answered = wholeText.test(outcome.text) && outcome.calls.some((call) => call.outcome === 'success');
    return [
      ...unless(outcome.ended.code !== 0 || answered, 'it ended as if all were well'),
      ...unless(
        outcome.calls.some((call) => call.outcome === 'upstream_error'),
        'no call failed',
      ),
      ...wellKnown(outcome),
    ];
  },
});

interface Refused {
  readonly simulate?: Readonly<Record<string, string>>;
  readonly budget?: number;
  readonly hasKey?: boolean;
  readonly hasModel?: boolean;
  readonly status: number;
  /** The gateway's code. */
  readonly error: string;
  /** The agent's message to its user. */
  readonly words: RegExp;
  /** The number of calls, one of which may be for a title. */
  readonly atMost: number;
}

/** A refusal that the same request would get again: the agent stops, reports the reason, and exits. */
const refusal = (
  name: string,
  { simulate = {}, budget = ample, hasKey = true, hasModel = true, status, error, words, atMost }: Refused,
): Scenario => ({
  name,
  prompt: 'Say hello.',
  simulate: () => simulate,
  budget,
  maxMs: refusedMaxMs,
  mayGoOn: true,
  hasKey,
  hasModel,
  faults: (outcome) => {
    const { ended, calls, setup } = outcome;
    const goesOn = status === 429 && setup.harness === goesByStatus;
    return [
      ...unless(
        calls.every((call) => call.status === status && call.error === error),
        `a call that is not ${status} ${error}`,
      ),
      ...(goesOn
        ? []
        : [
            ...unless(!ended.timedOut, 'it did not stop'),
            ...unless(calls.length <= atMost, `it asked ${calls.length} times`),
            ...unless(words.test(`${ended.stdout}${ended.stderr}`), 'it does not say why'),
          ]),
      ...unless(ended.code !== 0, 'it ended as if all were well'),
      ...(hasKey ? wellKnown(outcome) : unless(calls.length > 0, 'the gateway saw no call')),
    ];
  },
});

/** The model calls a tool that reads the note, and the agent sends it the result. */
const tool = (name: string, more: Readonly<Record<string, string>>): Scenario => ({
  name,
  prompt: 'What does the note say?',
  simulate: (agent, file) => {
    const call = agent.readFile(file);
    return { tools: 'on', 'tool-name': call.name, 'tool-arguments': JSON.stringify(call.arguments), ...more };
  },
  budget: ample,
  maxMs: runMaxMs,
  mayGoOn: false,
  hasKey: true,
  hasModel: true,
  faults: (outcome) => [
    ...endedWell(outcome),
    ...unless(outcome.text.includes('The tool returned'), 'no answer about the result of the tool'),
    ...unless(outcome.text.includes(marker), 'what the tool read is not in the answer'),
    ...unless(
      outcome.calls.some(({ invokedTools }) => invokedTools === 1),
      'no call with one tool invoked',
    ),
    ...wellKnown(outcome),
    ...allServed(outcome),
  ],
});

/** The model calls a tool of an MCP server behind the gateway. */
const mcpTool = (name: string, place: McpPlace): Scenario => ({
  ...tool(name, {}),
  mcp: place,
  simulate: (agent) => ({
    tools: 'on',
    'tool-name': agent.mcpTool?.(place) ?? '',
    'tool-arguments': '{}',
  }),
  faults: (outcome) => [
    ...tool(name, {}).faults(outcome),
    ...unless(
      outcome.invocations.length === 1 &&
        outcome.invocations.every(
          ({ server, tool: called, status }) =>
            server === serverId && called === `${serverId}/${toolName}` && status === 'success',
        ),
      'not the one record of a call of the tool',
    ),
    ...unless(
      outcome.calls.some(({ mcpServers }) => mcpServers === 1),
      'no call that refers to the MCP server',
    ),
  ],
});

/** All scenarios that each agent runs. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'text',
    prompt: 'Say hello.',
    simulate: () => ({}),
    budget: ample,
    maxMs: runMaxMs,
    mayGoOn: false,
    hasKey: true,
    hasModel: true,
    faults: (outcome) => [
      ...endedWell(outcome),
      ...unless(wholeText.test(outcome.text), 'the text is not the whole answer'),
      ...wellKnown(outcome),
      ...allServed(outcome),
    ],
  },
  tool('tool', {}),
  // The agent sends the reasoning back beside the result, in the form in which it received it.
  tool('reasoning', { reasoning: 'on' }),
  mcpTool('mcp server', alone),
  mcpTool('mcp union', union),
  // The connection to the upstream breaks mid-stream, and in the middle of a non-streamed answer.
  fault('break', { break: '4' }),
  // The stream ends without a finish; an agent that retries without a stream gets the complete answer.
  fault('no finish', { 'no-finish': 'on', 'no-done': 'on' }),
  // Codex repeats the request `request_max_retries` times, regardless of the status.
  refusal('bad key', { hasKey: false, status: 401, error: 'invalid_api_key', words: /key/i, atMost: 3 }),
  refusal('budget', {
    budget: 0,
    status: 429,
    error: 'budget_exceeded',
    words: /quota exceeded/i,
    atMost: 1,
  }),
  refusal('unknown model', {
    hasModel: false,
    status: 404,
    error: 'model_not_found',
    words: /there is no model|does not exist|not found|issue with the selected model/i,
    atMost: 2,
  }),
  // The first answer alone exceeds the budget: it streams to its last word, and ends with the refusal.
  refusal('blocked', {
    simulate: { 'prompt-tokens': '1000000' },
    budget: 1000,
    status: 429,
    error: 'budget_exceeded',
    words: /quota exceeded/i,
    atMost: 1,
  }),
  // Agents that know the code shorten the conversation and retry.
  refusal('context window', {
    simulate: { status: '400', code: 'context_length_exceeded', message: 'The messages are too long.' },
    status: 400,
    error: 'upstream_error',
    words: /too long|context window/i,
    atMost: 4,
  }),
];
