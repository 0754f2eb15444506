import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Container, type ServiceIdentifier } from 'inversify';
import type Koa from 'koa';
import type { DatabasePool } from 'slonik';
import { logIn } from './application/admin/log-in.ts';
import { authenticateAdmin, currentSession, logOut } from './application/admin/session.ts';
import { dispatchAlerts } from './application/budgets/dispatch-alerts.ts';
import { listModels } from './application/list-models.ts';
import type { Clock } from './application/ports/clock.ts';
import type { Ledger } from './application/ports/ledger.ts';
import type { SeedStore } from './application/ports/seed.ts';
import type { Telemetry } from './application/ports/telemetry.ts';
import type { Upstream } from './application/ports/upstream.ts';
import { serveModelRequest } from './application/serve-model-request.ts';
import { systemClock } from './infrastructure/clock.ts';
import { isTimeZone } from './infrastructure/config/formats.ts';
import type { LiveConfig } from './infrastructure/config/live-config.ts';
import { databaseFaultLog, type Log, nameOf, stackOf } from './infrastructure/logging.ts';
import { type Journal, journalFolder, localJournal } from './infrastructure/journal/journal.ts';
import { smtpMailer } from './infrastructure/mail/smtp-mailer.ts';
import { argon2Passwords } from './infrastructure/passwords.ts';
import { accountsStore, type CachedAccounts } from './infrastructure/postgres/accounts-store.ts';
import { alertQueue, alertsStore } from './infrastructure/postgres/alerts-store.ts';
import { budgetsStore } from './infrastructure/postgres/budgets-store.ts';
import { readCatalogue } from './infrastructure/postgres/catalogue-store.ts';
import { databaseFault } from './infrastructure/postgres/database-fault.ts';
import { isDatabaseTrouble } from './infrastructure/postgres/database-trouble.ts';
import { type LedgerStore, ledgerStore, replayJournaled } from './infrastructure/postgres/ledger-store.ts';
import { mcpInvocationsStore } from './infrastructure/postgres/mcp-invocations-store.ts';
import { payloadStore, type PayloadStore } from './infrastructure/postgres/payload-store.ts';
import { reportStore } from './infrastructure/postgres/report-store.ts';
import { requestLogsStore } from './infrastructure/postgres/request-logs-store.ts';
import { seedStore } from './infrastructure/postgres/seed-store.ts';
import { loginAttemptsStore, sessionStore } from './infrastructure/postgres/session-store.ts';
import { StateFollower } from './infrastructure/postgres/state-follower.ts';
import { executor } from './infrastructure/providers/executor.ts';
import { LiveCatalogue } from './infrastructure/providers/live-catalogue.ts';
import { sessionTokens } from './infrastructure/session-tokens.ts';
import { textDigest } from './infrastructure/text-digest.ts';
import type { AdminRoute } from './interfaces/http/admin/admin-route.ts';
import { adminRoutes } from './interfaces/http/admin/routes.ts';
import { type AdminApiPorts, gatewayApp } from './interfaces/http/app.ts';
import { authenticate } from './interfaces/http/authenticate.ts';
import { type Gates, gatesOf } from './interfaces/http/gates.ts';
import { streamKeepAlive } from './interfaces/http/keep-alive.ts';

/** A request lasts as long as its upstream may; a claim outlives it by this much. */
const claimMarginSecs = 120;

/** Settles what waits in the journal; asks whether to go on. */
type Recovery = (goOn: () => boolean) => Promise<void>;

const token = <T>(name: string) => Symbol(name) as ServiceIdentifier<T>;

/** What a process must have before the container is built: started, migrated, read. */
export interface Foundations {
  readonly config: LiveConfig;
  readonly pool: DatabasePool;
  readonly log: Log;
  readonly telemetry: Telemetry;
  /** Why this process must not get requests at the moment. */
  readonly notReady: () => Promise<string | undefined>;
  readonly draining: () => boolean;
}

export const tokens = {
  foundations: token<Foundations>('Foundations'),
  clock: token<Clock>('Clock'),
  gates: token<Gates>('Gates'),
  accounts: token<CachedAccounts>('Accounts'),
  catalogue: token<LiveCatalogue>('Catalogue'),
  follower: token<StateFollower>('StateFollower'),
  ledger: token<LedgerStore>('Ledger'),
  journal: token<Journal>('Journal'),
  payloads: token<PayloadStore>('Payloads'),
  recovery: token<Recovery>('Recovery'),
  upstream: token<Upstream>('Upstream'),
  seed: token<SeedStore>('SeedStore'),
  adminRoutes: token<readonly AdminRoute[]>('AdminRoutes'),
  admin: token<AdminApiPorts>('AdminApi'),
  alertDispatch: token<ReturnType<typeof dispatchAlerts>>('AlertDispatch'),
  app: token<Koa>('App'),
};

/** The only file that knows inversify: which value stands behind each port. Everything is a singleton. */
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
  bindStores(container);
  bindAlerts(container);
  bindAdminApi(container);
  bindService(container);
  return container;
}

function bindStores(container: Container): void {
  container
    .bind(tokens.seed)
    .toResolvedValue(({ pool }: Foundations) => seedStore(pool), [tokens.foundations]);
  container.bind(tokens.ledger).toResolvedValue(
    ({ pool, config, log }: Foundations, journal: Journal) =>
      ledgerStore(pool, {
        journal: journal.keep,
        ...settlingOptions(config, log),
        claimSeconds: () => claimSeconds(config),
      }),
    [tokens.foundations, tokens.journal],
  );
  container.bind(tokens.journal).toResolvedValue(journalOf, [tokens.foundations]);
  container.bind(tokens.payloads).toResolvedValue(
    ({ pool, log }: Foundations) =>
      payloadStore(pool, {
        onFault: (error) => databaseFaultLog(log)(databaseFault(error), error),
        onDefect: (error) => log.error({ error: nameOf(error), stack: stackOf(error) }, 'defect'),
      }),
    [tokens.foundations],
  );
  container.bind(tokens.recovery).toResolvedValue(
    ({ pool, config, log }: Foundations, journal: Journal): Recovery => {
      const replay = replayJournaled(pool, settlingOptions(config, log));
      return (goOn) => journal.recover(replay, goOn);
    },
    [tokens.foundations, tokens.journal],
  );
  container.bind(tokens.catalogue).toResolvedValue(
    ({ config, log }: Foundations) =>
      new LiveCatalogue(config.prices(), {
        redaction: () => config.policy().redaction,
        conceal: config.conceal,
        warn: (message) => log.warn({}, message),
      }),
    [tokens.foundations],
  );
  // The cache asks the follower whether it may be used, and the follower drops it: a knot of two, tied here.
  container.bind(tokens.accounts).toResolvedValue(
    ({ pool, log }: Foundations) =>
      accountsStore(
        pool,
        () => container.get(tokens.follower).isFresh(),
        (error) => databaseFaultLog(log)(databaseFault(error), error),
      ),
    [tokens.foundations],
  );
  container.bind(tokens.follower).toResolvedValue(
    ({ pool, config, log }: Foundations, accounts: CachedAccounts, catalogue: LiveCatalogue) =>
      new StateFollower(pool, {
        onChange: async () => {
          catalogue.take(await readCatalogue(pool), config.resolver(), config.prices());
          accounts.forget();
        },
        onFault: (error) => log.error({ error: nameOf(error) }, 'the database state could not be followed'),
      }),
    [tokens.foundations, tokens.accounts, tokens.catalogue],
  );
}

const journalOf = ({ config, log }: Foundations): Journal =>
  localJournal({
    directory: journalFolder(config.loaded().config.dataDir),
    onFault: (error) => log.error({ error: nameOf(error) }, 'the journal could not be written'),
    onRecovered: ({ kept, ...counts }) =>
      kept === undefined
        ? log.warn(counts, 'journal settled')
        : log.error({ ...counts, file: kept }, 'records of the journal could not be settled, and are kept'),
  });

function bindAlerts(container: Container): void {
  container.bind(tokens.alertDispatch).toResolvedValue(
    ({ pool, config }: Foundations) =>
      dispatchAlerts({
        queue: alertQueue(pool),
        mailer: smtpMailer(() => config.loaded().config.mail),
        whereToLook: () => `${config.loaded().config.server.publicBaseUrl ?? ''}/api/v1/admin/spend/budgets`,
      }),
    [tokens.foundations],
  );
}

/** What settlement needs to know, at once or out of the journal. */
const settlingOptions = (config: LiveConfig, log: Log) => ({
  closeOnBlock: () => config.loaded().config.accounting.afterBlock === 'close_window',
  mailReady: mailReady(config),
  onFault: databaseFaultLog(log),
});

const mailReady = (config: LiveConfig) => (): boolean => config.loaded().config.mail !== undefined;

const claimSeconds = (config: LiveConfig): number => {
  const totals = config.loaded().config.providers.map(({ timeouts }) => timeouts.totalMs);
  return Math.ceil(Math.max(0, ...totals) / 1000) + claimMarginSecs;
};

function bindAdminApi(container: Container): void {
  container.bind(tokens.adminRoutes).toResolvedValue(
    ({ pool, config }: Foundations) =>
      adminRoutes({
        budgets: budgetsStore(pool, mailReady(config)),
        budgetAlerts: alertsStore(pool),
        reports: reportStore(pool),
        requestLogs: requestLogsStore(pool),
        mcpInvocations: mcpInvocationsStore(pool),
        isTimeZone,
      }),
    [tokens.foundations],
  );
  container.bind(tokens.admin).toResolvedValue(
    (
      { config, pool, log }: Foundations,
      clock: Clock,
      gates: Gates,
      routes: readonly AdminRoute[],
    ): AdminApiPorts => {
      const login = {
        sessions: sessionStore(pool),
        tokens: sessionTokens,
        attempts: loginAttemptsStore(pool),
        passwords: argon2Passwords(),
        pause: async (ms: number) => sleep(ms),
      };
      return {
        logIn: logIn(login),
        logOut: logOut(login),
        currentSession: currentSession(login),
        authenticateAdmin: authenticateAdmin(login),
        gates: gates.admin,
        pace: gates.pace,
        clock,
        routes,
        publicBaseUrl: () => config.loaded().config.server.publicBaseUrl,
        trustedProxies: () => config.loaded().config.server.trustedProxies,
        isDatabaseTrouble: (error) => {
          const trouble = isDatabaseTrouble(error);
          if (trouble) databaseFaultLog(log)(databaseFault(error), error);
          return trouble;
        },
      };
    },
    [tokens.foundations, tokens.clock, tokens.gates, tokens.adminRoutes],
  );
}

function bindService(container: Container): void {
  container
    .bind(tokens.upstream)
    .toResolvedValue(
      (catalogue: LiveCatalogue) => executor((id) => catalogue.lineOf(id)),
      [tokens.catalogue],
    );
  container.bind(tokens.app).toResolvedValue(
    (
      { config, log, telemetry, notReady, draining }: Foundations,
      accounts: CachedAccounts,
      catalogue: LiveCatalogue,
      ledger: Ledger,
      upstream: Upstream,
      payloads: PayloadStore,
      clock: Clock,
      gates: Gates,
      admin: AdminApiPorts,
    ) =>
      gatewayApp({
        admin,
        authenticate: authenticate(accounts),
        serve: serveModelRequest({ catalogue, ledger, upstream, payloads, clock }, config.policy),
        listModels: listModels(catalogue),
        telemetry,
        gate: gates.models,
        pace: gates.pace,
        clock,
        digest: textDigest,
        keepAlive: streamKeepAlive(() => config.loaded().config.server.streamKeepaliveSecs),
        bodyMaxBytes: config.loaded().config.server.bodyMaxBytes,
        notReady,
        draining,
        onDefect: (error, requestId) =>
          log.error({ request_id: requestId, error: nameOf(error), stack: stackOf(error) }, 'defect'),
      }),
    [
      tokens.foundations,
      tokens.accounts,
      tokens.catalogue,
      tokens.ledger,
      tokens.upstream,
      tokens.payloads,
      tokens.clock,
      tokens.gates,
      tokens.admin,
    ],
  );
}
