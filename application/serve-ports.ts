import type { NamedServer } from '../domain/mcp/referenced-servers.ts';
import type { RedactionRules, RedactionSource } from '../domain/payload/redact.ts';
import type { PayloadPolicy } from '../domain/request-log/capture-policy.ts';
import type { Catalogue } from './ports/catalogue.ts';
import type { Clock } from './ports/clock.ts';
import type { LargeBodies } from './ports/large-bodies.ts';
import type { Ledger } from './ports/ledger.ts';
import type { InvocationLinks, McpOverheads } from './ports/mcp-invocations.ts';
import type { Payloads } from './ports/payloads.ts';
import type { Upstream } from './ports/upstream.ts';

/** The ports of the request pipeline. */
export interface ServePorts {
  readonly catalogue: Catalogue;
  readonly ledger: Ledger;
  readonly upstream: Upstream;
  readonly largeBodies: LargeBodies;
  readonly payloads: Payloads;
  readonly clock: Clock;
  readonly mcpOverheads: McpOverheads;
  readonly invocationLinks: InvocationLinks;
}

/** The operator's choices that the pipeline follows (rules 32.22, 32.23, 32.27, 32.28). */
export interface ServePolicy {
  readonly payloads: PayloadPolicy;
  /** What must not be kept of payloads and errors. */
  readonly redaction: RedactionRules;
  /** What these rules are compiled from: plain data, from which another thread compiles the same rules. */
  readonly redactionSource: RedactionSource;
  /** The most JSON values in a body; more gives 400 (rule 32.11). */
  readonly bodyMaxValues: number;
  readonly duplicateRequestIds: 'allow' | 'reject';
  readonly drainOnDisconnect: 'never' | 'hard_budget' | 'always';
  readonly drainTimeoutMs: number;
  /** The most streams that are drained at once. */
  readonly maxDrains: number;
  /** The configured MCP servers; absent where there are none. */
  readonly mcpServers?: readonly NamedServer[];
}
