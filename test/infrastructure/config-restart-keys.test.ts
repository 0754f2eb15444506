import { describe, expect, it } from '@jest/globals';
import { configPage } from '../../infrastructure/config/config-page.ts';
import { changedRestartKeys, restartKeys } from '../../infrastructure/config/restart-keys.ts';
import { configOf } from './config-reading.ts';

type RestartKey = keyof typeof restartKeys;

const files = '{cert_file: /c, key_file: /k}';
/** For each key a file that has it, and one that has another value or none. */
const changes = {
  'server.bind': ['server: {bind: "127.0.0.1:1"}', 'server: {bind: "127.0.0.1:2"}'],
  'server.admin_bind': ['server: {admin_bind: "127.0.0.1:1"}', '{}'],
  'server.tls': [`server: {tls: ${files}}`, '{}'],
  'server.admin_tls': [
    `server: {admin_bind: "127.0.0.1:1", admin_tls: ${files}}`,
    'server: {admin_bind: "127.0.0.1:1"}',
  ],
  'server.workers': ['server: {workers: 2}', '{}'],
  'server.body_max_bytes': ['server: {body_max_bytes: 1}', '{}'],
  'server.max_connections': ['server: {max_connections: 1}', '{}'],
  'server.max_in_flight': [
    'server: {max_in_flight: 8, max_in_flight_per_owner: 1}',
    'server: {max_in_flight: 9, max_in_flight_per_owner: 1}',
  ],
  'server.max_in_flight_per_owner': ['server: {max_in_flight_per_owner: 1}', '{}'],
  'server.max_buffered_bytes': ['server: {max_buffered_bytes: 100000000}', '{}'],
  'server.otel_endpoint': [
    'server: {otel_endpoint: "http://a", otel_metrics_endpoint: "http://m"}',
    'server: {otel_endpoint: "http://b", otel_metrics_endpoint: "http://m"}',
  ],
  'server.otel_metrics_endpoint': ['server: {otel_metrics_endpoint: "http://a"}', '{}'],
  'server.otel_headers': ['server: {otel_headers: {a: b}}', '{}'],
  'server.otel_trace_sample_ratio': ['server: {otel_trace_sample_ratio: 0.5}', '{}'],
  'server.otel_export_interval_secs': ['server: {otel_export_interval_secs: 1}', '{}'],
  'server.otel_bespoke_tags': ['server: {otel_bespoke_tags: [a]}', '{}'],
  'database.url': ['database: {url: "postgres://a/d"}', 'database: {url: "postgres://b/d"}'],
  'database.read_url': [
    'database: {url: "postgres://a/d", read_url: "postgres://b/d"}',
    'database: {url: "postgres://a/d"}',
  ],
  'database.distribution': [
    'database: {url: "postgres://a/d", distribution: citus}',
    'database: {url: "postgres://a/d"}',
  ],
  'database.max_connections': ['database: {max_connections: 1}', '{}'],
} as const satisfies Record<RestartKey, readonly [string, string]>;

describe('keys that need a restart', () => {
  it.each(Object.entries(changes))('%s is listed if it has changed', (key, [one, other]) => {
    expect(changedRestartKeys(configOf(one), configOf(other))).toEqual([key]);
    expect(changedRestartKeys(configOf(other), configOf(one))).toEqual([key]);
    expect(changedRestartKeys(configOf(one), configOf(one))).toEqual([]);
  });

  it('do not include the keys that a reload applies', () => {
    const taken = `server: {cors_origins: ["https://a.example.com"], stream_keepalive_secs: 1, trusted_proxies: [10.0.0.0/8],
                    body_max_values: 5, shutdown_grace_secs: 1, public_base_url: "https://g.example.com"}
accounting: {duplicate_request_ids: reject}
teams: [{id: t, name: T}]`;
    expect(changedRestartKeys(configOf('{}'), configOf(taken))).toEqual([]);
    const renewed = 'server: {tls: {cert_file: /c2, key_file: /k2, min_version: TLSv1.3}}';
    expect(changedRestartKeys(configOf(`server: {tls: ${files}}`), configOf(renewed))).toEqual([]);
  });

  it('are listed in docs/configuration.md, and each has a row there', () => {
    const [list = ''] = configPage()
      .split('\n')
      .filter((line) => line.startsWith('- A reload applies every key except these'));
    for (const key of Object.keys(restartKeys)) {
      expect(list).toContain(`\`${key}\``);
      expect(configPage()).toContain(`\n| \`${key}\` |`);
    }
  });
});
