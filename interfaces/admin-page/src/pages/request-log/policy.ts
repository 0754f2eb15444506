import { grouped } from '../../ui/amounts.ts';
import type { LoggedRow } from '../request-logs/request-log.ts';
import { fieldsOf, asText, wholeOf } from '../../api/loose-json.ts';

type Kept = Pick<LoggedRow, 'metadata' | 'has_payload'>;

/** The limits that were in force when the payload was stored, in words. */
export function policyText({ metadata }: Pick<LoggedRow, 'metadata'>): string | undefined {
  const policy = fieldsOf(fieldsOf(metadata)['payload_policy']);
  const mode = asText(policy['capture_mode']);
  if (mode === undefined) return undefined;
  const bounds = [
    boundText('request', policy['request_max_bytes'], 'bytes'),
    boundText('answer', policy['response_max_bytes'], 'bytes'),
    boundText('stream', policy['stream_max_events'], 'events'),
  ].filter((text) => text !== undefined);
  const version = asText(policy['version']);
  return `capture_mode ${mode}${bounds.length === 0 ? '' : `; at most ${bounds.join(', ')}`}${version === undefined ? '' : `; ${version}`}`;
}

function boundText(what: string, bound: unknown, unit: string): string | undefined {
  const most = wholeOf(bound);
  return most === undefined ? undefined : `${what} ${grouped(most)} ${unit}`;
}

/** Why the bodies of a request are missing. */
export function whyNoPayload({ metadata, has_payload: isKept }: Kept): string {
  const mode = asText(fieldsOf(fieldsOf(metadata)['payload_policy'])['capture_mode']);
  if (mode === 'summary_only')
    return 'Request and answer were not kept: request_logging.payloads.capture_mode was summary_only.';
  if (isKept) return 'Request and answer were kept, and have been deleted since.';
  return 'Request and answer are not stored: they are not written yet, or were left out because the database was slow (counted by the metric gateway.payloads).';
}
