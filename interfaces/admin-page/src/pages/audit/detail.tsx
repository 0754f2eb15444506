import { useAddress } from '../../app/address.ts';
import { Pair } from '../../ui/pair.tsx';
import { Dash, Id, Time } from '../../ui/values.tsx';
import { Actor } from './actor.tsx';
import { type FieldChange, fieldsOf, isChanged } from './difference.ts';
import type { AdminEvent } from './events.ts';
import { TargetLink } from './target-link.tsx';

/** A change: by whom, from where, and the values before and after. */
export function EventDetail({ event }: { readonly event: AdminEvent }) {
  const { set } = useAddress();
  const fields = fieldsOf(event);
  const changed = fields.filter(isChanged);
  const same = fields.filter((field) => !isChanged(field));
  const actor = event.actor_user_id;
  return (
    <>
      <dl className="pairs">
        <Pair name="When (UTC)">
          <Time at={event.occurred_at} />
        </Pair>
        <Pair name="Who">
          <Actor of={event} />
        </Pair>
        <Pair name={event.target_kind}>
          <TargetLink event={event} short={false} />
        </Pair>
        <Pair name="From address">{event.remote_address ?? <Dash />}</Pair>
        <Pair name="API token">
          <Id of={event.admin_token_id} short={false} />
        </Pair>
        <Pair name="Event id" isBroad>
          <Id of={event.admin_event_id} short={false} />
        </Pair>
      </dl>
      <div className="actions">
        <button
          type="button"
          className="button"
          onClick={() => set({ target_id: event.target_id, open: undefined, page: undefined })}
        >
          All changes to this {event.target_kind}
        </button>
        {actor === null ? null : (
          <button
            type="button"
            className="button"
            onClick={() => set({ actor_user_id: actor, open: undefined, page: undefined })}
          >
            All changes by this person
          </button>
        )}
      </div>
      <h3>What changed</h3>
      {changed.length === 0 ? (
        <p className="muted">
          {fields.length === 0 ? 'The event has no fields.' : 'No field changed its value.'}
        </p>
      ) : (
        <Fields label="What changed" fields={changed} />
      )}
      {same.length === 0 ? null : (
        <details className="same">
          <summary>
            {same.length} {same.length === 1 ? 'field' : 'fields'} unchanged
          </summary>
          <Fields label="Unchanged fields" fields={same} />
        </details>
      )}
    </>
  );
}

const Fields = ({ label, fields }: { readonly label: string; readonly fields: readonly FieldChange[] }) => (
  <div className="table-scroll fit" tabIndex={0} role="region" aria-label={label}>
    <table className="difference">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {fields.map((change) => (
          <tr key={change.field}>
            <th scope="row">{change.field}</th>
            <td>
              <Side text={change.before} mark={isChanged(change) ? 'del' : undefined} />
            </td>
            <td>
              <Side text={change.after} mark={isChanged(change) ? 'ins' : undefined} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** A value of one version, or a dash when the field did not exist. */
function Side({
  text,
  mark: Mark,
}: {
  readonly text: string | undefined;
  readonly mark: 'del' | 'ins' | undefined;
}) {
  if (text === undefined) return <Dash />;
  const shown = <code>{text === '' ? '""' : text}</code>;
  return Mark === undefined ? shown : <Mark>{shown}</Mark>;
}
