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
