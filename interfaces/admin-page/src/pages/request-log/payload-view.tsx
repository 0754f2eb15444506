import { useMemo } from 'react';
import { Badge, Copyable } from '../../ui/values.tsx';
import { isStream } from '../request-logs/request-log.ts';
import { saidOf } from './conversation.ts';
import { ConversationView } from './conversation-view.tsx';
import { curlOf } from './curl.ts';
import { fieldsOf } from '../../api/loose-json.ts';
import type { LoadedDetail } from './load.ts';
import { countMarks } from './marks.ts';
import { MarksLegend } from './marked-text.tsx';
import { More } from './more.tsx';
import { policyText, whyNoPayload } from './policy.ts';
import { RawJson } from './raw-json.tsx';

/** Request and answer: as a conversation, as raw JSON, and as a command that repeats the request. */
export function PayloadView({ detail }: { readonly detail: LoadedDetail }) {
  const { log, payload } = detail;
  const policy = policyText(log);
  return (
    <section className="stack" aria-label="Conversation">
      <div className="row">
        <h3>Conversation</h3>
        {log.request_payload_truncated ? <Badge tone="warn">request cut off</Badge> : null}
        {log.response_payload_truncated ? <Badge tone="warn">answer cut off</Badge> : null}
      </div>
      {payload === null ? <p>{whyNoPayload(log)}</p> : <Stored detail={detail} />}
      {policy === undefined ? null : <p className="muted">Payload policy: {policy}.</p>}
    </section>
  );
}

function Stored({ detail }: { readonly detail: LoadedDetail }) {
  const { log, payload, requestText, responseText } = detail;
  const operation = fieldsOf(log.metadata)['operation'];
  const conversation = useMemo(
    () => saidOf(operation, payload?.request_json, payload?.response_json),
    [operation, payload],
  );
  const curl = curlOf({
    origin: window.location.origin,
    operation,
    stream: isStream(log) === true,
    requestText,
  });
  const { redacted, truncated } = countMarks(curl ?? '');
  return (
    <>
      {conversation === undefined ? (
        <p className="muted">It cannot be shown as a conversation: its raw JSON is below.</p>
      ) : (
        <ConversationView conversation={conversation} />
      )}
      <MarksLegend of={[requestText, responseText]} />
      <More title="Raw JSON, as stored" isOpenAtFirst={conversation === undefined}>
        <div className="stack">
          {requestText === undefined ? (
            <p className="muted">No request is stored.</p>
          ) : (
            <RawJson text={requestText} label="Request" />
          )}
          {responseText === undefined ? (
            <p className="muted">No answer is stored.</p>
          ) : (
            <RawJson text={responseText} label="Answer" />
          )}
        </div>
      </More>
      {curl === undefined ? null : (
        <More title="Send it again with curl">
          <div className="stack">
            <p className="muted">
              The key is not included: set GATEWAY_API_KEY.
              {redacted + truncated === 0
                ? null
                : ' Parts of the stored request were hidden or cut off, so this is not the same request.'}
            </p>
            <Copyable block label="curl" text={curl} />
          </div>
        </More>
      )}
    </>
  );
}
