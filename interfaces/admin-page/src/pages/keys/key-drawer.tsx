import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type ApiKey, ownerWords, readKey } from '../../api/owners.ts';
import { grouped } from '../../ui/amounts.ts';
import { kindPaths } from '../../api/search.ts';
import { Pair } from '../../ui/pair.tsx';
import { Dash, FromConfig, Time } from '../../ui/values.tsx';
import { OpenedDrawer, WholeId } from '../owners/parts.tsx';
import { ChangeKey, RevokeKey, RotateKey } from './change-key.tsx';
import { KeyBadge, keyState } from './key-state.tsx';
import type { ShownKey } from './secret-shown.tsx';

/** A key: what it is, what it may do, and the actions on it. */
export const KeyDrawer = ({
  id,
  onRotated,
  onClose,
}: {
  readonly id: string;
  readonly onRotated: (made: ShownKey) => void;
  readonly onClose: () => void;
}) => (
  <OpenedDrawer
    what="Key"
    queryKey={['keys', 'one', id]}
    load={(signal) => readKey(id, signal)}
    titleOf={({ name }) => `Key “${name}”`}
    onClose={onClose}
  >
    {(key) => <Detail of={key} onRotated={onRotated} />}
  </OpenedDrawer>
);

type Act = 'change' | 'rotate' | 'revoke';

function Detail({
  of: key,
  onRotated,
}: {
  readonly of: ApiKey;
  readonly onRotated: (made: ShownKey) => void;
}) {
  const [act, setAct] = useState<Act>();
  const done = (): void => setAct(undefined);
  const isRevoked = keyState(key) === 'revoked';
  return (
    <>
      <div className="actions">
        <button type="button" className="button" disabled={isRevoked} onClick={() => setAct('change')}>
          Change…
        </button>
        <button type="button" className="button" disabled={isRevoked} onClick={() => setAct('rotate')}>
          Rotate…
        </button>
        <button type="button" className="button danger" disabled={isRevoked} onClick={() => setAct('revoke')}>
          Revoke…
        </button>
      </div>
      <Facts of={key} />
      <KeyLinks of={key} />
      {act === 'change' ? <ChangeKey of={key} onClose={done} /> : null}
      {act === 'revoke' ? <RevokeKey of={key} onClose={done} /> : null}
      {act === 'rotate' ? (
        <RotateKey
          of={key}
          onMade={(made) => {
            done();
            onRotated(made);
          }}
          onClose={done}
        />
      ) : null}
    </>
  );
}

const Facts = ({ of: key }: { readonly of: ApiKey }) => (
  <dl className="pairs">
    <Pair name="Status">
      <KeyBadge of={key} /> <FromConfig is={key.from_config} />
    </Pair>
    <Pair name={`Owner (${ownerWords[key.owner_kind]})`}>
      <Link to={kindPaths[key.owner_kind]} search={{ open: key.owner_id }}>
        {key.owner_name}
      </Link>
    </Pair>
    <Pair name="Models">
      {key.allowed_models.length === 0 ? 'all' : <ModelLinks ids={key.allowed_models} />}
    </Pair>
    <Pair name="Expires (UTC)">{key.expires_at === null ? 'never' : <Time at={key.expires_at} />}</Pair>
    <Pair name="Secret before the last rotation works until (UTC)">
      <Time at={key.previous_expires_at} />
    </Pair>
    <Pair name="Last used (UTC day)">{key.last_used_on ?? 'never'}</Pair>
    <Pair name="Created (UTC)">
      <Time at={key.created_at} />
      {key.created_by === null ? null : (
        <>
          {' by '}
          <Link to="/people" search={{ open: key.created_by.user_id }}>
            {key.created_by.name}
          </Link>
        </>
      )}
    </Pair>
    <Pair name="Revoked (UTC)">
      {key.revoked_at === null ? (
        <Dash />
      ) : (
        <>
          <Time at={key.revoked_at} />{' '}
          {key.revoked_by === 'config' ? 'by the configuration file' : 'by an admin'}
        </>
      )}
    </Pair>
    <Pair name="Public id" isBroad>
      <WholeId of={key.public_id} />
    </Pair>
    <Pair name="Id" isBroad>
      <WholeId of={key.api_key_id} />
    </Pair>
  </dl>
);

const linkedAtFirst = 50;

/** The first models, and the others on demand: a key may have thousands (rule 52.25). */
function ModelLinks({ ids }: { readonly ids: readonly string[] }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? ids : ids.slice(0, linkedAtFirst);
  return (
    <>
      <ul className="plain-list">
        {shown.map((id) => (
          <li key={id}>
            <Link to="/models" search={{ open: id }}>
              {id}
            </Link>
          </li>
        ))}
      </ul>
      {shown.length === ids.length ? null : (
        <button type="button" className="button quiet" onClick={() => setWhole(true)}>
          Show all {grouped(ids.length)}
        </button>
      )}
    </>
  );
}

const KeyLinks = ({ of: key }: { readonly of: ApiKey }) => (
  <nav className="row gap" aria-label="More of this key">
    <Link to="/observability/request-logs" search={{ api_key_id: key.api_key_id }}>
      Its requests
    </Link>
    <Link to="/rate-limits" search={{ kind: 'api_key' }}>
      Rate limits of keys
    </Link>
    <Link to="/audit" search={{ target_id: key.api_key_id }}>
      Its audit
    </Link>
  </nav>
);
