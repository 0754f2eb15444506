import { withSessionSetting } from '../session-setting.ts';

/** Scheme and login, the hosts, and what follows them. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)[^/?#]*(.*)$/s;

/** What says where a server is, or which of several is wanted: a node has one place. */
const ofThePlace = ['host', 'port', 'hostaddr', 'target_session_attrs'];

/** The URL of another node: as the coordinator's, at the address that Citus has of the node. */
export function nodeUrl(url: string, host: string, port: number): string {
  const [, before = '', after = ''] = parts.exec(url) ?? [];
  const target = new URL(`${before}${host.includes(':') ? `[${host}]` : host}:${port}${after}`);
  for (const name of ofThePlace) target.searchParams.delete(name);
  return target.href;
}

/**
 * Sessions at a node keep the plan of each statement. By itself PostgreSQL would weigh the kept plan against a new one,
 * and plan most statements of the money path anew at each call: on a node each of them goes through the hooks of Citus.
 */
export const withKeptPlans = (url: string): string =>
  withSessionSetting(url, 'plan_cache_mode', 'force_generic_plan');
