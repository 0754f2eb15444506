import type { McpGates } from './mcp/mcp-endpoint.ts';
import { type LoginBodies, loginBodies } from './admin/login-bodies.ts';
import { type Arrivals, bodyPace } from './body-pace.ts';
import { type LoadGate, type LoadLimits, loadGate } from './load-gate.ts';

/** Of the admin API: people and their scripts, a few at a time; of one network a quarter, as of the model API. */
const adminLimits: LoadLimits = {
  maxInFlight: 256,
  maxInFlightPerOwner: 64,
  // 64 of its largest bodies.
  maxBufferedBytes: 64 * 1024 * 1024,
};

/** Each waits for the provider, some seconds at most; none has a body. */
const signInLimits: LoadLimits = { maxInFlight: 64, maxInFlightPerOwner: 16, maxBufferedBytes: 1024 * 1024 };

/** What the admin API lets in, apart from the model API: nothing that happens at one shuts the other. */
export interface AdminGates {
  /** Of calls with a session, and of those that say that they have one. */
  readonly calls: LoadGate;
  /** Of logins: counted only. Their bodies have a room of their own, and the logins a line. */
  readonly logins: LoadGate;
  readonly loginBodies: LoginBodies;
  /** Of browsers on their way to and from the identity provider, for which the gateway waits. */
  readonly signIns: LoadGate;
}

export interface Gates {
  readonly models: LoadGate;
  readonly admin: AdminGates;
  readonly mcp: McpGates;
  readonly pace: Arrivals;
  /** Requests of all kinds that are not over yet; streams of MCP servers, which have no end of their own, are none. */
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
    inFlight: () =>
      models.inFlight() +
      mcp.calls.inFlight() +
      admin.calls.inFlight() +
      admin.logins.inFlight() +
      admin.signIns.inFlight(),
  };
}
