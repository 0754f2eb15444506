import path from 'node:path';
import { Container, type ServiceIdentifier } from 'inversify';
import { findModel, listModels } from '../application/list-models.ts';
import { testModel } from '../application/models/test-model.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { LimitStandings } from '../application/ports/limit-standings.ts';
import type { McpTelemetry } from '../application/ports/mcp-telemetry.ts';
import type { Telemetry } from '../application/ports/telemetry.ts';
import { serveModelRequest } from '../application/serve-model-request.ts';
import type { ServePorts } from '../application/serve-ports.ts';
import { adminApi, type AdminFoundations, adminRoutesOf } from './admin-api.ts';
import { type BudgetAlerting, budgetAlerting } from './budget-alerting.ts';
import { callerAuthentication } from './callers.ts';
import { placesOf, processOf } from './database-pools.ts';
import { cleaned, writeBehind } from './fault-reports.ts';
import { systemClock } from '../infrastructure/clock.ts';
import { causeOf, failuresOf, defectFields, statementErrorLog } from '../infrastructure/logging.ts';
import type { Journal } from '../infrastructure/journal/journal.ts';
import { accountsStore, type CachedAccounts } from '../infrastructure/postgres/accounts-store.ts';
import { limitStandings } from '../infrastructure/limit-standings.ts';
import { readCatalogue } from '../infrastructure/postgres/catalogue-store.ts';
import type { GatewayProcess } from '../infrastructure/postgres/gateway-process.ts';
import { type KeyUse, keyUse, notingKeys } from '../infrastructure/postgres/key-use.ts';
import { distributionOf } from '../infrastructure/postgres/citus/cluster.ts';
import { endJournaledHolds, shardedLedger } from '../infrastructure/postgres/citus/sharded-ledger.ts';
import { type LedgerStore, ledgerStore, replayJournaled } from '../infrastructure/postgres/ledger-store.ts';
import { modelTestsStore } from '../infrastructure/postgres/model-tests-store.ts';
import { payloadStore, type PayloadStore } from '../infrastructure/postgres/payload-store.ts';
import { Freshness, StateFollower } from '../infrastructure/postgres/state-follower.ts';
import { largeBodies, type LargeBodyThread } from '../infrastructure/large-bodies/large-bodies.ts';
import { decompress } from '../infrastructure/providers/decompression.ts';
import { type Executor, executor } from '../infrastructure/providers/executor.ts';
import { bundledOutputLimits } from '../infrastructure/pricing/output-limits.ts';
import { LiveCatalogue } from '../infrastructure/providers/live-catalogue.ts';
import { textDigest } from '../infrastructure/text-digest.ts';
import type { AdminRoute } from '../interfaces/http/admin/admin-route.ts';
import { adminPage } from '../interfaces/http/admin-page.ts';
import { type AdminApiPorts, gatewayApp } from '../interfaces/http/app.ts';
import { cutOff, type CutOff } from '../interfaces/http/cut-off.ts';
import { type Gates, gatesOf } from '../interfaces/http/gates.ts';
import { streamKeepAlive } from '../interfaces/http/keep-alive.ts';
import { type McpParts, mcpParts } from './mcp.ts';
import { testSlot } from './model-tests.ts';
import { claimSeconds, journalOf, settlingOptions } from './settling.ts';

/** Settles the records that wait in the journal; calls `shouldContinue` to know whether to go on. */
export type Recovery = (shouldContinue: () => boolean) => Promise<void>;

const token = <T>(name: string) => Symbol(name) as ServiceIdentifier<T>;

/** What a process needs before the container is built: services started, schema migrated, configuration read. */
export interface Foundations extends AdminFoundations {
  readonly telemetry: Telemetry;
  readonly mcpTelemetry: McpTelemetry;
  /** Why this process must not get requests at the moment. */
  readonly notReady: () => Promise<string | undefined>;
}

export const tokens = {
  foundations: token<Foundations>('Foundations'),
  clock: token<Clock>('Clock'),
  gates: token<Gates>('Gates'),
  cutOff: token<CutOff>('CutOff'),
  accounts: token<CachedAccounts>('Accounts'),
  catalogue: token<LiveCatalogue>('Catalogue'),
  freshness: token<Freshness>('Freshness'),
  standings: token<LimitStandings>('LimitStandings'),
  follower: token<StateFollower>('StateFollower'),
  process: token<GatewayProcess>('GatewayProcess'),
  keyUse: token<KeyUse>('KeyUse'),
  ledger: token<LedgerStore>('Ledger'),
  journal: token<Journal>('Journal'),
  payloads: token<PayloadStore>('Payloads'),
  mcp: token<McpParts>('Mcp'),
  recovery: token<Recovery>('Recovery'),
  upstream: token<Executor>('Upstream'),
  largeBodies: token<LargeBodyThread>('LargeBodies'),
  servePorts: token<ServePorts>('ServePorts'),
  adminRoutes: token<readonly AdminRoute[]>('AdminRoutes'),
  admin: token<AdminApiPorts>('AdminApi'),
  alerting: token<BudgetAlerting>('BudgetAlerting'),
  appFor: token<ReturnType<typeof gatewayApp>>('AppFor'),
};

/** The only file that knows inversify: it binds an implementation to each port. Everything is a singleton. */
export function buildContainer(foundations: Foundations): Container {
  const container = new Container({ defaultScope: 'Singleton' });
  container.bind(tokens.foundations).toConstantValue(foundations);
  container.bind(tokens.clock).toResolvedValue(systemClock, []);
  container
    .bind(tokens.gates)
    .toResolvedValue(
      ({ config }: Foundations) => gatesOf(config.loaded().config.server),
      [tokens.foundations],
    );
  container.bind(tokens.cutOff).toResolvedValue(cutOff, []);
  bindStores(container);
  bindState(container);
  bindAlerts(container);
  bindAdminApi(container);
  bindService(container);
  return container;
}

function bindStores(container: Container): void {
  const ofFoundations = <T>(id: ServiceIdentifier<T>, make: (given: Foundations) => T): void =>
    void container.bind(id).toResolvedValue(make, [tokens.foundations]);
  ofFoundations(tokens.keyUse, ({ pool, cluster }) => keyUse(pool, distributionOf(cluster)));
  ofFoundations(tokens.process, ({ pool, cluster, log }) => processOf(pool, cluster, log));
  ofFoundations(tokens.journal, ({ config, log }) => journalOf(config, log));
  ofFoundations(tokens.payloads, ({ pool, cluster, config, log }) =>
    payloadStore(placesOf(pool, cluster), writeBehind(config, log)),
  );
  container.bind(tokens.ledger).toResolvedValue(
    (
      { pool, cluster, config, log }: Foundations,
      journal: Journal,
      process: GatewayProcess,
      use: KeyUse,
      clock: Clock,
      standings: LimitStandings,
    ) => {
      const options = {
        process,
        standings,
        journal: journal.keep,
        ...settlingOptions(config, log),
        claimSeconds: () => claimSeconds(config),
      };
      const ledger = cluster === undefined ? ledgerStore(pool, options) : shardedLedger(cluster, options);
      return notingKeys(ledger, use, clock.now);
    },
    [tokens.foundations, tokens.journal, tokens.process, tokens.keyUse, tokens.clock, tokens.standings],
  );
  container.bind(tokens.recovery).toResolvedValue(
    ({ pool, cluster, config, log }: Foundations, journal: Journal): Recovery => {
      const ended = cluster === undefined ? undefined : endJournaledHolds(cluster);
      const replay = replayJournaled(placesOf(pool, cluster), settlingOptions(config, log), ended);
      return (shouldContinue) => journal.recover(replay, shouldContinue);
    },
    [tokens.foundations, tokens.journal],
  );
}

/** State that is read from the database and followed. */
function bindState(container: Container): void {
  container.bind(tokens.catalogue).toResolvedValue(
    ({ config, log }: Foundations) =>
      new LiveCatalogue(config.prices(), {
        redaction: () => config.policy().redaction,
        conceal: config.conceal,
        outputLimitOf: bundledOutputLimits(),
        warn: (message) => log.warn({}, message),
      }),
    [tokens.foundations],
  );
  container.bind(tokens.freshness).toResolvedValue(() => new Freshness(), []);
  container.bind(tokens.standings).toResolvedValue(limitStandings, [tokens.clock]);
  container
    .bind(tokens.accounts)
    .toResolvedValue(
      ({ pool, log }: Foundations, freshness: Freshness) =>
        accountsStore(pool, () => freshness.isFresh(), statementErrorLog(log)),
      [tokens.foundations, tokens.freshness],
    );
  container.bind(tokens.follower).toResolvedValue(
    (
      { pool, config, log }: Foundations,
      freshness: Freshness,
      accounts: CachedAccounts,
      catalogue: LiveCatalogue,
    ) => {
      const { failed, worked } = failuresOf(log, 'changes in the database could not be followed');
      return new StateFollower(pool, {
        freshness,
        onChange: async () => {
          await catalogue.take(await readCatalogue(pool), config.resolver(), config.prices());
          accounts.forget();
        },
        onFault: failed,
        onFollowed: worked,
      });
    },
    [tokens.foundations, tokens.freshness, tokens.accounts, tokens.catalogue],
  );
}

function bindAlerts(container: Container): void {
  const alerting = ({ pool, config, log }: Foundations) => budgetAlerting(pool, config, log);
  container.bind(tokens.alerting).toResolvedValue(alerting, [tokens.foundations]);
}

function bindAdminApi(container: Container): void {
  container.bind(tokens.adminRoutes).toResolvedValue(
    (given: Foundations, ports: ServePorts, gates: Gates, cut: CutOff, mcp: McpParts) => {
      const { pool, config, telemetry } = given;
      const enter = testSlot(gates.models, cut);
      const tested = { ...ports, modelTests: modelTestsStore(pool), enter, telemetry, digest: textDigest };
      return adminRoutesOf(given, ports.clock, testModel(tested, config.policy), mcp.inspect);
    },
    [tokens.foundations, tokens.servePorts, tokens.gates, tokens.cutOff, tokens.mcp],
  );
  container
    .bind(tokens.admin)
    .toResolvedValue(adminApi, [tokens.foundations, tokens.clock, tokens.gates, tokens.adminRoutes]);
}

function bindService(container: Container): void {
  container
    .bind(tokens.upstream)
    .toResolvedValue(
      (catalogue: LiveCatalogue) => executor((id) => catalogue.readyProvider(id)),
      [tokens.catalogue],
    );
  container.bind(tokens.largeBodies).toResolvedValue(
    ({ log }: Foundations, upstream: Executor) =>
      largeBodies(upstream, {
        onFault: (error) => log.error({ error: causeOf(error) }, 'the worker thread for large bodies exited'),
      }),
    [tokens.foundations, tokens.upstream],
  );
  container
    .bind(tokens.servePorts)
    .toResolvedValue(
      (
        catalogue: LiveCatalogue,
        ledger: LedgerStore,
        upstream: Executor,
        thread: LargeBodyThread,
        payloads: PayloadStore,
        clock: Clock,
        { recording }: McpParts,
      ): ServePorts => ({ catalogue, ledger, upstream, largeBodies: thread, payloads, clock, ...recording }),
      [
        tokens.catalogue,
        tokens.ledger,
        tokens.upstream,
        tokens.largeBodies,
        tokens.payloads,
        tokens.clock,
        tokens.mcp,
      ],
    );
  bindApp(container);
}

function bindApp(container: Container): void {
  container.bind(tokens.mcp).toResolvedValue(mcpParts, [tokens.foundations, tokens.clock, tokens.gates]);
  container.bind(tokens.appFor).toResolvedValue(
    (
      { config, log, telemetry, notReady }: Foundations,
      accounts: CachedAccounts,
      ports: ServePorts,
      gates: Gates,
      admin: AdminApiPorts,
      cut: CutOff,
      standings: LimitStandings,
      mcp: McpParts,
    ) =>
      gatewayApp({
        admin,
        authenticate: callerAuthentication(accounts, config, log),
        serve: serveModelRequest(ports, config.policy),
        listModels: listModels(ports.catalogue),
        findModel: findModel(ports.catalogue),
        limitsNow: standings.of,
        telemetry,
        gate: gates.models,
        mcp: mcp.services,
        pace: gates.pace,
        turns: gates.turns,
        decompress,
        clock: ports.clock,
        digest: textDigest,
        keepAlive: streamKeepAlive(() => config.loaded().config.server.streamKeepaliveSecs),
        corsOrigins: () => config.loaded().config.server.corsOrigins,
        bodyMaxBytes: config.loaded().config.server.bodyMaxBytes,
        secrets: () => config.policy().redaction.secrets,
        notReady,
        cutOff: cut,
        page: adminPage(path.join(import.meta.dirname, '..', 'interfaces', 'admin-page', 'dist')),
        onDefect: (error, requestId) => {
          const clean = cleaned(config);
          log.error({ request_id: clean(requestId), ...defectFields(error, clean) }, 'defect');
        },
      }),
    [
      tokens.foundations,
      tokens.accounts,
      tokens.servePorts,
      tokens.gates,
      tokens.admin,
      tokens.cutOff,
      tokens.standings,
      tokens.mcp,
    ],
  );
}
