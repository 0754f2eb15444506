import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { ServerConfig } from '../infrastructure/config/server-config.ts';
import { causeOf, type Log } from '../infrastructure/logging.ts';
import { repeating } from '../infrastructure/repeating.ts';
import { type Certificate, certificateOf } from '../infrastructure/tls-certificate.ts';
import type { Served } from '../interfaces/http/app.ts';
import { type Listener, listener } from '../interfaces/http/listener.ts';
import type { ServiceParts } from './parts.ts';

/** How often certificate files are checked for changes, so that a renewal does not have to notify the gateway. */
const certificateSecs = 5;

/** Minimum interval between warnings that the connection limit is reached. */
const fullMs = 60_000;

/** The listeners of a process: one for everybody, or one for callers and one for admins. */
export interface Listeners {
  readonly url: string;
  /** Where the admin API and its page are. */
  readonly adminUrl: string;
  /** Accepts no new connections; resolves when the last one has ended. */
  readonly stop: () => Promise<void>;
  readonly cut: () => void;
  /** Loads certificates that have changed. */
  readonly renew: () => Promise<void>;
}

/** Opens all listeners or none: if one fails, the error says why. `alone` as in {@link Listener}. */
export async function openListeners(
  parts: Pick<ServiceParts, 'appFor' | 'clock'>,
  config: LiveConfig,
  log: Log,
  alone: boolean,
): Promise<Listeners> {
  const { bind, adminBind } = config.loaded().config.server;
  const tls = await certificateOf('tls', () => config.loaded().config.server.tls, log, parts.clock.now);
  const adminTls = await certificateOf(
    'admin_tls',
    () => config.loaded().config.server.adminTls,
    log,
    parts.clock.now,
  );
  const listenOn = listenerFor(parts, config, log);
  const callers = listenOn(bind, adminBind === undefined ? 'all' : 'callers', tls);
  const admins = adminBind === undefined ? undefined : listenOn(adminBind, 'admins', adminTls ?? tls);
  const listeners = admins === undefined ? [callers] : [callers, admins];
  const cut = (): void => {
    for (const each of listeners) each.cut();
  };
  const close = async (): Promise<void> => {
    await Promise.all(listeners.map((each) => each.stop()));
  };
  try {
    for (const each of listeners) await each.open(alone);
  } catch (error) {
    cut();
    await close();
    throw error;
  }
  const renew = async (): Promise<void> => {
    await tls?.look();
    await adminTls?.look();
  };
  const renewing = repeating(
    () => certificateSecs,
    renew,
    (error) => log.error({ error: causeOf(error) }, 'the certificates could not be checked'),
  );
  return {
    url: callers.url(),
    adminUrl: (admins ?? callers).url(),
    stop: async () => {
      await Promise.all([renewing.stop(), close()]);
    },
    cut,
    renew,
  };
}

function listenerFor(
  { appFor, clock }: Pick<ServiceParts, 'appFor' | 'clock'>,
  config: LiveConfig,
  log: Log,
): (at: ServerConfig['bind'], served: Served, tls: Certificate | undefined) => Listener {
  const { maxConnections } = config.loaded().config.server;
  const full = atMostEach(fullMs, () =>
    log.warn({ max_connections: maxConnections }, 'connections are refused: max_connections is reached'),
  );
  return (at, served, tls) => {
    const terms = { ...at, handle: appFor(served).callback(), newId: clock.newId, maxConnections, full };
    const made = listener({ ...terms, tls: tls?.files() });
    tls?.follow(made.identify);
    return made;
  };
}

/** Calls `call` at most once per `ms` milliseconds, and ignores the other calls. */
export function atMostEach(ms: number, call: () => void): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - last < ms) return;
    last = performance.now();
    call();
  };
}
