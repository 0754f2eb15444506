import type { McpGates } from './mcp/mcp-endpoint.ts';
import { type LoginBodies, loginBodies } from './admin/login-bodies.ts';
import { type Arrivals, bodyPace } from './body-pace.ts';
import { type BodyTurns, bodyTurns } from './body-turns.ts';
import { type LoadGate, type LoadLimits, loadGate } from './load-gate.ts';

/**
 * For the admin API, which has few concurrent users: people and their scripts. One network gets a quarter of the
 * places, as on the model API.
 */
const adminLimits: LoadLimits = {
  maxInFlight: 256,
  maxInFlightPerOwner: 64,
  // Room for 64 of its largest bodies.
  maxBufferedBytes: 64 * 1024 * 1024,
};

/** Each waits for the provider, for a few seconds at most. None has a body. */
const signInLimits: LoadLimits = { maxInFlight: 64, maxInFlightPerOwner: 16, maxBufferedBytes: 1024 * 1024 };

/** What the admin API admits, apart from the model API, so that load on one never shuts out the other. */
export interface AdminGates {
  /** For requests with a session, or with the claim of one. */
  readonly calls: LoadGate;
  /**
   * For logins, which are only counted here. Their bodies have their own memory limit, and logins wait in their own
   * queue.
   */
  readonly logins: LoadGate;
  readonly loginBodies: LoginBodies;
  /** For browsers on their way to and from the identity provider, on which the gateway waits. */
  readonly signIns: LoadGate;
}

export interface Gates {
  readonly models: LoadGate;
  readonly admin: AdminGates;
  readonly mcp: McpGates;
  readonly pace: Arrivals;
  readonly turns: BodyTurns;
  /**
   * Requests of all kinds that have not ended. Streams of MCP servers do not count, because they have no end of their
   * own.
   */
  readonly inFlight: () => number;
}

export const adminGates = (limits: LoadLimits = adminLimits, bodies = loginBodies()): AdminGates => ({
  calls: loadGate(limits),
  logins: loadGate({
    maxInFlight: Infinity,
    maxInFlightPerOwner: Infinity,
    maxBufferedBytes: Infinity,
  }),
  loginBodies: bodies,
  signIns: loadGate(signInLimits),
});

export function gatesOf(limits: LoadLimits): Gates {
  const models = loadGate(limits);
  const admin = adminGates();
  const mcp = { calls: loadGate(limits), streams: loadGate(limits) };
  return {
    models,
    admin,
    mcp,
    pace: bodyPace(),
    turns: bodyTurns(),
    inFlight: () =>
      models.inFlight() +
      mcp.calls.inFlight() +
      admin.calls.inFlight() +
      admin.logins.inFlight() +
      admin.signIns.inFlight(),
  };
}
