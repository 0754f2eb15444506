import type { Agent, Setup } from './agents.ts';
import type { Ended } from './execute.ts';
import { marker } from './marker.ts';
import { alone, type McpPlace, serverId, toolName, union } from './mcp.ts';
import type { SeenCall, SeenInvocation } from './stage.ts';

/** What is told about a run that has ended. */
export interface Outcome {
  readonly ended: Ended;
  /** What the agent said to its user, without colours and around it no white space. */
  readonly text: string;
  readonly calls: readonly SeenCall[];
  /** The records of calls of MCP tools. */
  readonly invocations: readonly SeenInvocation[];
  readonly setup: Setup;
}

/** A situation that agents are put into. */
export interface Scenario {
  readonly name: string;
  readonly prompt: string;
  /** What the simulated upstream is told to do, as `x-simulate` has it; `file` is where the note lies. */
  readonly simulate: (agent: Agent, file: string) => Readonly<Record<string, string>>;
  /** The hard budget of the run's owner, in 1/10000 USD. */
  readonly budget: number;
  /** Milliseconds that an agent has from its first call on. */
  readonly maxMs: number;
  /** Whether an agent may still be at it when its time is over: it has claimed nothing that is not so. */
  readonly mayGoOn: boolean;
  /** Whether the agent has the owner's key, or one that nobody has: those calls leave no row. */
  readonly hasKey: boolean;
  /** Whether there is the model that the agent asks for. */
  readonly hasModel: boolean;
  /** Where the agent finds an MCP server; absent: it knows of none. */
  readonly mcp?: McpPlace;
  /** Why the run failed; nothing when it passed. */
  readonly faults: (outcome: Outcome) => readonly string[];
}

const unless = (holds: boolean, otherwise: string): readonly string[] => (holds ? [] : [otherwise]);

/** The simulated answers, from their first word to their last character. */
const wholeText = /This is a simulated answer; no model was asked\. .*"\.$/s;

const endedWell = ({ ended }: Outcome): readonly string[] =>
  unless(ended.timedOut || ended.code === 0, `exit code ${ended.code}`);

/** Every call is of the agent's family, known by its harness, and kept once in the request log. */
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

/** What is answered is also accounted for. */
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

/** Ample for what a run costs: five dollars. */
const ample = 50_000;

const runMaxMs = 60_000;

/** Agents that do not give up at a refusal ask again without end; what they do is plain by then. */
const refusedMaxMs = 15_000;

/** It asks with growing pauses after every 429, whatever its headers and its code say. */
const goesByStatus = 'opencode';

/** Whatever the agent makes of it, it must not give a cut text for an answer. */
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
  /** What the agent tells its user. */
  readonly words: RegExp;
  /** Calls, of which one may be for a title. */
  readonly atMost: number;
}

/** What the same request cannot get past: the agent stops asking, says why, and exits. */
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

/** The model calls a tool that reads the note, and is sent what it read. */
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

/** Everything that each agent is put through. */
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
  // The agent sends the reasoning back beside the result, in whatever form it got it.
  tool('reasoning', { reasoning: 'on' }),
  mcpTool('mcp server', alone),
  mcpTool('mcp union', union),
  // The connection to the upstream breaks in mid-stream, and in the middle of a whole answer.
  fault('break', { break: '4' }),
  // The stream ends without a finish; whoever asks again without a stream gets the whole answer.
  fault('no finish', { 'no-finish': 'on', 'no-done': 'on' }),
  // Codex asks as often as its `request_max_retries` says, whatever the status.
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
  // The first answer alone costs more than there is: it streams to its last word, and ends with the refusal.
  refusal('blocked', {
    simulate: { 'prompt-tokens': '1000000' },
    budget: 1000,
    status: 429,
    error: 'budget_exceeded',
    words: /quota exceeded/i,
    atMost: 1,
  }),
  // Agents that know the code shorten the conversation and ask again.
  refusal('context window', {
    simulate: { status: '400', code: 'context_length_exceeded', message: 'The messages are too long.' },
    status: 400,
    error: 'upstream_error',
    words: /too long|context window/i,
    atMost: 4,
  }),
];
