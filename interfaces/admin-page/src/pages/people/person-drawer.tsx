import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Person, readPerson } from '../../api/owners.ts';
import { Pair } from '../../ui/pair.tsx';
import { FromConfig, Time } from '../../ui/values.tsx';
import { ChangeActivity } from '../owners/change-activity.tsx';
import { ActiveBadge, Elsewhere, OwnerDrawer, WholeId } from '../owners/parts.tsx';
import { ChangePerson, patchPerson, roleWords } from './person-forms.tsx';

export const PersonDrawer = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => (
  <OwnerDrawer
    what="Person"
    queryKey={['people', 'one', id]}
    load={(signal) => readPerson(id, signal)}
    titleOf={({ name }) => name}
    onClose={onClose}
  >
    {(person) => <Detail of={person} />}
  </OwnerDrawer>
);

function Detail({ of: person }: { readonly of: Person }) {
  const [act, setAct] = useState<'change' | 'activity'>();
  const done = (): void => setAct(undefined);
  const id = person.user_id;
  return (
    <>
      <div className="actions">
        <button type="button" className="button" onClick={() => setAct('change')}>
          Change…
        </button>
        <Link className="button" to="/keys" search={{ owner_kind: 'user', owner_id: id }}>
          Keys
        </Link>
        <button
          type="button"
          className={person.active ? 'button danger' : 'button'}
          onClick={() => setAct('activity')}
        >
          {person.active ? 'Deactivate…' : 'Activate…'}
        </button>
      </div>
      <Facts of={person} />
      <Elsewhere kind="user" id={id} payer={{ kind: 'user', id }} />
      {act === 'change' ? <ChangePerson of={person} onClose={done} /> : null}
      {act === 'activity' ? (
        <ChangeActivity
          kind="user"
          id={id}
          of={person}
          change={(active, ifMatch) => patchPerson(id, ifMatch, { active })}
          present={() => readPerson(id)}
          onClose={done}
        />
      ) : null}
    </>
  );
}

const Facts = ({ of: person }: { readonly of: Person }) => (
  <dl className="pairs">
    <Pair name="State">
      <ActiveBadge is={person.active} /> <FromConfig is={person.from_config} />
    </Pair>
    <Pair name="E-mail">{person.email}</Pair>
    <Pair name="Role">{roleWords[person.role]}</Pair>
    <Pair name="Request logging">{person.request_logging_enabled ? 'on' : 'off'}</Pair>
    <Pair name="Teams">
      {person.teams.length === 0 ? <span className="muted">none</span> : null}
      <ul className="plain-list">
        {person.teams.map(({ team_id: teamId, role }) => (
          <li key={teamId}>
            <Link to="/teams" search={{ open: teamId }}>
              {teamId}
            </Link>{' '}
            <span className="muted">{role}</span>
          </li>
        ))}
      </ul>
    </Pair>
    <Pair name="Created">
      <Time at={person.created_at} />
    </Pair>
    <Pair name="Id" isBroad>
      <WholeId of={person.user_id} />
    </Pair>
  </dl>
);
