import { withSessionSetting } from '../session-setting.ts';

/** Captures the scheme and login, and what follows the hosts. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)[^/?#]*(.*)$/s;

/** The parameters that say where a server is or which of several is wanted: a node has a single address. */
const ofThePlace = ['host', 'port', 'hostaddr', 'target_session_attrs'];

/** The URL of another node: the coordinator's URL, with the address that Citus has for the node. */
export function nodeUrl(url: string, host: string, port: number): string {
  const [, before = '', after = ''] = parts.exec(url) ?? [];
  const target = new URL(`${before}${host.includes(':') ? `[${host}]` : host}:${port}${after}`);
  for (const name of ofThePlace) target.searchParams.delete(name);
  return target.href;
}

/**
 * Makes sessions on a node keep the plan of each statement. By default PostgreSQL would weigh the cached plan against a
 * new one and replan most statements of the money path at each call, and on a node each planning involves Citus.
 */
export const withKeptPlans = (url: string): string =>
  withSessionSetting(url, 'plan_cache_mode', 'force_generic_plan');
