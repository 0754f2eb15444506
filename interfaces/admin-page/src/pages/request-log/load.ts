import { api, readWithText } from '../../api/client.ts';
import type { LoggedDetail } from '../request-logs/request-log.ts';
import { memberText } from './json-text.ts';

/** A request log, with its payload as the stored JSON text: parsing keeps neither every digit nor the order of keys. */
export interface LoadedDetail extends LoggedDetail {
  readonly requestText: string | undefined;
  readonly responseText: string | undefined;
}

export async function loadDetail(requestLogId: string, signal: AbortSignal): Promise<LoadedDetail> {
  const { data: detail, text } = await readWithText((fetch) =>
    api.GET('/api/v1/admin/observability/request-logs/{request_log_id}', {
      params: { path: { request_log_id: requestLogId } },
      signal,
      fetch,
    }),
  );
  const payload = memberText(memberText(text, 'data') ?? '', 'payload') ?? '';
  return {
    ...detail,
    requestText: stored(payload, 'request_json'),
    responseText: stored(payload, 'response_json'),
  };
}

function stored(payload: string, key: string): string | undefined {
  const text = memberText(payload, key)?.trim();
  return text === 'null' ? undefined : text;
}
