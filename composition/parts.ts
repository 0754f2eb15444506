import type { Clock } from '../application/ports/clock.ts';
import type { Journal } from '../infrastructure/journal/journal.ts';
import type { LargeBodyThread } from '../infrastructure/large-bodies/large-bodies.ts';
import type { GatewayProcess } from '../infrastructure/postgres/gateway-process.ts';
import type { KeyUse } from '../infrastructure/postgres/key-use.ts';
import type { LedgerStore } from '../infrastructure/postgres/ledger-store.ts';
import type { PayloadStore } from '../infrastructure/postgres/payload-store.ts';
import type { StateFollower } from '../infrastructure/postgres/state-follower.ts';
import type { Executor } from '../infrastructure/providers/executor.ts';
import type { LiveCatalogue } from '../infrastructure/providers/live-catalogue.ts';
import type { gatewayApp } from '../interfaces/http/app.ts';
import type { CutOff } from '../interfaces/http/cut-off.ts';
import type { Gates } from '../interfaces/http/gates.ts';
import type { BudgetAlerting } from './budget-alerting.ts';
import type { McpParts } from './mcp.ts';
import { buildContainer, type Foundations, type Recovery, tokens } from './container.ts';

/** The parts of a process that serves. */
export interface ServiceParts {
  readonly clock: Clock;
  readonly gates: Gates;
  readonly cutOff: CutOff;
  readonly catalogue: LiveCatalogue;
  readonly follower: StateFollower;
  readonly process: GatewayProcess;
  readonly ledger: LedgerStore;
  readonly keyUse: KeyUse;
  readonly journal: Journal;
  readonly payloads: PayloadStore;
  readonly mcp: McpParts;
  readonly recovery: Recovery;
  readonly upstream: Executor;
  readonly largeBodies: LargeBodyThread;
  readonly alerting: BudgetAlerting;
  readonly appFor: ReturnType<typeof gatewayApp>;
}

/** Everything that serving needs, resolved once. */
export function serviceParts(foundations: Foundations): ServiceParts {
  const container = buildContainer(foundations);
  return {
    clock: container.get(tokens.clock),
    gates: container.get(tokens.gates),
    cutOff: container.get(tokens.cutOff),
    catalogue: container.get(tokens.catalogue),
    follower: container.get(tokens.follower),
    process: container.get(tokens.process),
    ledger: container.get(tokens.ledger),
    keyUse: container.get(tokens.keyUse),
    journal: container.get(tokens.journal),
    payloads: container.get(tokens.payloads),
    mcp: container.get(tokens.mcp),
    recovery: container.get(tokens.recovery),
    upstream: container.get(tokens.upstream),
    largeBodies: container.get(tokens.largeBodies),
    alerting: container.get(tokens.alerting),
    appFor: container.get(tokens.appFor),
  };
}
