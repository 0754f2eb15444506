import { Link } from '@tanstack/react-router';
import { Pair } from '../../ui/pair.tsx';
import { Part } from '../../ui/part.tsx';
import { Count, Dash, Duration, NotAvailable, Time } from '../../ui/values.tsx';
import { WholeId } from '../owners/parts.tsx';
import { accountingNotes, Cost, FirstToken, OutcomeBadge, pricingText } from '../request-logs/outcome.tsx';
import { isStream, requesterOf, type LoggedRow } from '../request-logs/request-log.ts';
import { fieldsOf, asText } from '../../api/loose-json.ts';
import { kindPaths } from '../../api/search.ts';
import type { LoadedDetail } from './load.ts';
import { McpCalls } from './mcp-calls.tsx';
import { More } from './more.tsx';
import { PayloadView } from './payload-view.tsx';
import { TimelineView } from './timeline-view.tsx';

const list = '/observability/request-logs';

/** Everything known about a request, for the drawer and for its own page. */
export function RequestDetail({ detail }: { readonly detail: LoadedDetail }) {
  const { log } = detail;
  return (
    <div className="stack detail">
      <div className="row">
        <OutcomeBadge of={log} />
        <strong>
          {log.model_key ?? 'no model'} → {log.provider_key ?? 'none'}
        </strong>
        <OwnerLink log={log} />
      </div>
      <Figures log={log} />
      {accountingNotes(log).map((note) => (
        <p key={note}>{note}</p>
      ))}
      <Related log={log} />
      <Part title="Timeline">
        <TimelineView detail={detail} />
      </Part>
      <PayloadView detail={detail} />
      <Part title="Tools and MCP">
        <Tools detail={detail} />
      </Part>
      <McpCalls of={log.request_log_id} />
      <Part title="Who and where">
        <Caller log={log} />
      </Part>
      <More title="Log row as JSON">
        <pre tabIndex={0} aria-label="Log row, JSON">
          {JSON.stringify(log, null, 2)}
        </pre>
      </More>
    </div>
  );
}

function Figures({ log }: { readonly log: LoggedRow }) {
  const stream = isStream(log);
  return (
    <dl className="pairs">
      <Pair name="Cost">
        <Cost of={log} />
      </Pair>
      <Pair name="Pricing">
        {pricingText(log) ?? 'not in the ledger'}
        {log.unpriced_reason === null ? null : `: ${log.unpriced_reason}`}
      </Pair>
      <Pair name="Latency">
        <Duration ms={log.latency_ms} />
      </Pair>
      <Pair name="First token">
        <FirstToken of={log} />
      </Pair>
      <Pair name="Tokens in">
        <Count of={log.prompt_tokens} />
      </Pair>
      <Pair name="Tokens out">
        <Count of={log.completion_tokens} />
      </Pair>
      <Pair name="Tokens in total">
        <Count of={log.total_tokens} />
      </Pair>
      <Pair name="Family">{asText(fieldsOf(log.metadata)['operation']) ?? <NotAvailable />}</Pair>
      <Pair name="Stream">{stream === undefined ? <NotAvailable /> : stream ? 'yes' : 'no'}</Pair>
      <Pair name="Recorded (UTC)">
        <Time at={log.occurred_at} />
      </Pair>
      <Pair name="Request id" isBroad>
        <WholeId of={log.request_id} label="Copy request id" />
      </Pair>
      <Pair name="Request log id" isBroad>
        <WholeId of={log.request_log_id} label="Copy request log id" />
      </Pair>
    </dl>
  );
}

function OwnerLink({ log }: { readonly log: LoggedRow }) {
  const owner = requesterOf(log);
  if (owner === undefined) return <span className="muted">owner unknown</span>;
  return (
    <span>
      for{' '}
      <Link to={list} search={{ [owner.filter]: owner.id }}>
        {owner.name}
      </Link>
    </span>
  );
}

/** Longer ids do not fit into every address. */
const maxAddressChars = 1_000;

function Related({ log }: { readonly log: LoggedRow }) {
  const owner = requesterOf(log);
  const fits = log.request_id.length <= maxAddressChars;
  return (
    <nav className="row gap" aria-label="Related">
      <Link
        to="/observability/mcp-invocations"
        search={fits ? { request_id: log.request_id } : { request_log_id: log.request_log_id }}
      >
        Its MCP calls
      </Link>
      {fits ? (
        <Link to={list} search={{ request_id: log.request_id }}>
          Requests with this id
        </Link>
      ) : null}
      {owner === undefined ? null : (
        <Link to={list} search={{ [owner.filter]: owner.id }}>
          Requests of {owner.name}
        </Link>
      )}
      {log.model_key === null ? null : (
        <Link to={list} search={{ model_key: log.model_key }}>
          Requests for {log.model_key}
        </Link>
      )}
      {log.api_key_id === null ? null : (
        <>
          <Link to={list} search={{ api_key_id: log.api_key_id }}>
            Requests by this key
          </Link>
          <Link to={kindPaths.api_key} search={{ open: log.api_key_id }}>
            The key
          </Link>
        </>
      )}
      {log.status_code < 400 ? null : (
        <Link to={list} search={{ status_code: String(log.status_code) }}>
          Requests that ended with {log.status_code}
        </Link>
      )}
    </nav>
  );
}

const Tools = ({ detail: { log, mcp_token_overhead: overhead } }: { readonly detail: LoadedDetail }) => (
  <dl className="pairs">
    <Pair name="Tools offered">
      <Count of={log.tool_cardinality.exposed_tool_count} />
    </Pair>
    <Pair name="Tools called">
      <Count of={log.tool_cardinality.invoked_tool_count} />
    </Pair>
    <Pair name="MCP servers referred to">
      <Count of={log.tool_cardinality.referenced_mcp_server_count} />
    </Pair>
    <Pair name="Tools filtered out">
      <Count of={log.tool_cardinality.filtered_tool_count} />
    </Pair>
    {overhead === null ? null : (
      <>
        <Pair name="MCP servers and tools in the context">
          {overhead.server_count} and {overhead.tool_count}
        </Pair>
        <Pair name="Bytes of tool definitions">
          <Count of={overhead.tool_definition_bytes} />
        </Pair>
        <Pair name="Tokens of tool definitions">
          <Count of={overhead.tool_definition_tokens} />
        </Pair>
        <Pair name="Tokens of tool results">
          <Count of={overhead.tool_result_tokens} />
        </Pair>
      </>
    )}
  </dl>
);

function Caller({ log }: { readonly log: LoggedRow }) {
  const { service, component, env, bespoke } = log.request_tags;
  return (
    <dl className="pairs">
      <Pair name="Service">
        <Only name="service" value={service} />
      </Pair>
      <Pair name="Component">
        <Only name="component" value={component} />
      </Pair>
      <Pair name="Environment">
        <Only name="env" value={env} />
      </Pair>
      {bespoke.map(({ key, value }) => (
        <Pair key={key} name={`Tag ${key}`}>
          <Link to={list} search={{ tag_key: key, tag_value: value }}>
            {value}
          </Link>
        </Pair>
      ))}
      <Pair name="Key">{log.api_key_name ?? log.api_key_id ?? <Dash />}</Pair>
      <Pair name="Harness">
        <Only name="agent_harness_key" value={log.agent_harness_key} says={log.agent_harness_label} />
      </Pair>
      <Pair name="User-Agent" isBroad>
        {log.user_agent_raw ?? <Dash />}
      </Pair>
    </dl>
  );
}

const Only = ({
  name,
  value,
  says = null,
}: {
  readonly name: string;
  readonly value: string | null;
  readonly says?: string | null;
}) =>
  value === null ? (
    <Dash />
  ) : (
    <Link to={list} search={{ [name]: value }}>
      {says ?? value}
    </Link>
  );
