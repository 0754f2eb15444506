import { Link } from '@tanstack/react-router';
import { Pair } from '../../ui/pair.tsx';
import { McpServerLink } from '../../ui/things.tsx';
import { Badge, Dash, Duration, Time } from '../../ui/values.tsx';
import { WholeId } from '../owners/parts.tsx';
import { MarksLegend } from '../request-log/marked-text.tsx';
import { RawJson } from '../request-log/raw-json.tsx';
import { CallStatus, PolicyBadge } from './columns.tsx';
import { errorWords } from './error-words.ts';
import type { LoadedInvocation } from './load.ts';

const list = '/observability/mcp-invocations';

/** Everything known about a call of an MCP tool. */
export function InvocationDetail({ call }: { readonly call: LoadedInvocation }) {
  return (
    <div className="stack detail">
      <div className="row">
        <CallStatus of={call} />
        <PolicyBadge of={call} />
        <strong>
          {call.server_display_name ?? call.server_id} → {call.tool_display_name ?? call.tool_id}
        </strong>
      </div>
      <dl className="pairs">
        <Pair name="Latency">
          <Duration ms={call.latency_ms} />
        </Pair>
        <Pair name="Recorded (UTC)">
          <Time at={call.occurred_at} />
        </Pair>
        <Pair name="Error code">
          <ErrorCode of={call.error_code} />
        </Pair>
        <Pair name="Server">
          <McpServerLink id={call.server_id} />
        </Pair>
        <Pair name="Tool">
          <Link to={list} search={{ tool_id: call.tool_id }}>
            {call.tool_id}
          </Link>
        </Pair>
        <Pair name="Owner">
          <Owner call={call} />
        </Pair>
        <Pair name="Key">
          {call.api_key_id === null ? (
            <Dash />
          ) : (
            <Link to={list} search={{ api_key_id: call.api_key_id }}>
              {call.api_key_id}
            </Link>
          )}
        </Pair>
        <Pair name="Request id" isBroad>
          <WholeId of={call.request_id} label="Copy request id" />
        </Pair>
        <Pair name="Call id" isBroad>
          <WholeId of={call.mcp_tool_invocation_id} label="Copy call id" />
        </Pair>
      </dl>
      <nav className="row gap" aria-label="Related">
        {call.request_log_id === null ? (
          <Link to="/observability/request-logs" search={{ request_id: call.request_id }}>
            Its request
          </Link>
        ) : (
          <Link to="/observability/request-logs/$requestLogId" params={{ requestLogId: call.request_log_id }}>
            Its request
          </Link>
        )}
        <Link to={list} search={{ request_id: call.request_id }}>
          MCP calls of this request
        </Link>
        <Link to={list} search={{ server_id: call.server_id }}>
          MCP calls of this server
        </Link>
      </nav>
      <MarksLegend of={[call.argumentsText, call.resultText]} />
      <Json text={call.argumentsText} label="Arguments" isCut={call.arguments_truncated} />
      <Json text={call.resultText} label="Result" isCut={call.result_truncated} />
    </div>
  );
}

/** The code, and what it means. */
const ErrorCode = ({ of: code }: { readonly of: string | null }) =>
  code === null ? (
    <Dash />
  ) : (
    <>
      {code} <span className="muted">{errorWords[code]}</span>
    </>
  );

function Owner({ call }: { readonly call: LoadedInvocation }) {
  if (call.team_id !== null)
    return (
      <Link to={list} search={{ team_id: call.team_id }}>
        team {call.team_id}
      </Link>
    );
  if (call.user_id === null) return <Dash />;
  return (
    <Link to={list} search={{ user_id: call.user_id }}>
      person {call.user_id}
    </Link>
  );
}

const Json = ({
  text,
  label,
  isCut,
}: {
  readonly text: string | undefined;
  readonly label: string;
  readonly isCut: boolean;
}) => (
  <>
    {isCut ? (
      <p>
        <Badge tone="warn">cut off</Badge> {label} was larger than 16 KiB.
      </p>
    ) : null}
    {text === undefined || text === 'null' ? (
      <p className="muted">{label}: none.</p>
    ) : (
      <RawJson text={text} label={label} />
    )}
  </>
);
