import { api, readWithText } from '../../api/client.ts';
import { memberText } from '../request-log/json-text.ts';
import type { McpInvocation } from './invocation.ts';

/** A call, with its arguments and its result as the stored JSON text. */
export interface LoadedInvocation extends McpInvocation {
  readonly argumentsText: string | undefined;
  readonly resultText: string | undefined;
}

export async function loadInvocation(id: string, signal: AbortSignal): Promise<LoadedInvocation> {
  const { data: call, text } = await readWithText((fetch) =>
    api.GET('/api/v1/admin/observability/mcp-invocations/{mcp_tool_invocation_id}', {
      params: { path: { mcp_tool_invocation_id: id } },
      signal,
      fetch,
    }),
  );
  const data = memberText(text, 'data') ?? '';
  return {
    ...call,
    argumentsText: memberText(data, 'arguments_json')?.trim(),
    resultText: memberText(data, 'result_json')?.trim(),
  };
}
