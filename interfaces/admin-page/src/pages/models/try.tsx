import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api, type ResponseData, read } from '../../api/client.ts';
import { type Hit, searchThings } from '../../api/search.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Pair } from '../../ui/pair.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { faultOf, SelectField } from '../../ui/fields.tsx';
import { Pick } from '../../ui/pick.tsx';
import { ErrorLine } from '../../ui/states.tsx';
import { Badge, Count, Duration, Id, Money } from '../../ui/values.tsx';
import { byPriority, type Model, modelsKey } from './models.ts';

const families = ['chat_completions', 'messages', 'responses', 'embeddings'] as const;
type Family = (typeof families)[number];

const searchPayers = searchThings(['user', 'team']);

/** One tiny request over a route. It costs money, which is charged to the chosen owner. */
export function TryModel({
  model,
  route,
  onClose,
}: {
  readonly model: Model;
  /** The route that is selected at first. */
  readonly route: number | 'any';
  readonly onClose: () => void;
}) {
  const [owner, setOwner] = useState<Hit>();
  const [chosen, setChosen] = useState(String(route));
  const [family, setFamily] = useState<Family | 'any'>('any');
  const [isTried, setTried] = useState(false);
  const client = useQueryClient();
  const test = useMutation({
    mutationFn: (to: Hit) =>
      read(
        api.POST('/api/v1/admin/models/{model_id}/test', {
          params: { path: { model_id: model.model_key } },
          body: {
            owner_kind: to.kind === 'team' ? 'team' : 'user',
            owner_id: to.id,
            ...(chosen === 'any' ? {} : { route_position: Number(chosen) }),
            ...(family === 'any' ? {} : { family }),
          },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: modelsKey }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (owner !== undefined) test.mutate(owner);
  };
  return (
    <Dialog title={`Try ${model.model_key}`} onClose={onClose}>
      <form className="stack" onSubmit={submit} noValidate>
        <Pick
          label="Who pays: a person or a team"
          of="payers"
          search={searchPayers}
          autoFocus
          chosen={owner}
          onChoose={setOwner}
          fault={isTried && owner === undefined ? 'Choose who pays for it.' : faultOf(test.error, 'owner_id')}
        />
        <SelectField
          label="Route"
          value={chosen}
          onChange={setChosen}
          fault={faultOf(test.error, 'route_position')}
          options={[
            { value: 'any', label: 'The one that a request would use' },
            ...byPriority(model.routes).map(
              ({ position, provider_key: provider, upstream_model: upstream }) => ({
                value: String(position),
                label: `${position}: ${provider} → ${upstream}`,
              }),
            ),
          ]}
        />
        <SelectField
          label="API"
          value={family}
          onChange={setFamily}
          fault={faultOf(test.error, 'family')}
          options={[
            { value: 'any', label: 'The first one that the route serves' },
            ...families.map((each) => ({ value: each, label: each.replace('_', ' ') })),
          ]}
        />
        <p className="note">
          One real request of at most 16 tokens is sent upstream, as callers’ requests are.{' '}
          <strong>
            Its real cost is charged to {owner === undefined ? 'the owner that you choose' : owner.title}.
          </strong>{' '}
          It appears in the ledger, the request logs and the audit.
        </p>
        <ErrorLine error={test.error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
          <ActButton type="submit" look="button primary" isPending={test.isPending}>
            {test.isPending ? 'Waiting for the answer…' : 'Send one test request'}
          </ActButton>
        </div>
        {test.data === undefined || test.isPending ? null : <Result of={test.data} />}
        <p className="muted">
          To see a streamed answer, you need a key: <Link to="/keys">create one under Keys</Link>, and paste
          its example.
        </p>
      </form>
    </Dialog>
  );
}

type Tested = ResponseData<'/api/v1/admin/models/{model_id}/test', 'post'>;

/** The result of the request. */
const Result = ({ of }: { readonly of: Tested }) => (
  <section className="stack" aria-label="Result" role="status">
    <div className="row">
      <Badge tone={of.error === null ? 'good' : 'bad'}>
        {of.outcome.replaceAll('_', ' ')}, {of.status}
      </Badge>
      <span>
        {of.provider_key === null ? 'no route was used' : `${of.provider_key} → ${of.upstream_model}`}
      </span>
    </div>
    {of.error === null ? null : (
      <p className="error-text">
        {of.error.message} <span className="muted">{of.error.code}</span>
        {of.error.upstream_status === null ? null : (
          <span className="muted">, the upstream said {of.error.upstream_status}</span>
        )}
      </p>
    )}
    {of.text === null || of.text === '' ? null : <pre aria-label="The answer">{of.text}</pre>}
    <dl className="pairs">
      <Pair name="API">{of.family.replace('_', ' ')}</Pair>
      <Pair name="Took">
        <Duration ms={of.latency_ms} />
      </Pair>
      <Pair name="Tokens, in and out">
        <Count of={of.usage?.prompt_tokens} /> and <Count of={of.usage?.completion_tokens} />
      </Pair>
      <Pair name="Cost">
        <Money usd={of.cost_usd} />
      </Pair>
      <Pair name="Request">
        {of.request_log_id === null ? (
          <>
            <Id of={of.request_id} /> (not logged)
          </>
        ) : (
          <Link to="/observability/request-logs/$requestLogId" params={{ requestLogId: of.request_log_id }}>
            See its request log
          </Link>
        )}
      </Pair>
    </dl>
  </section>
);
