import { Link } from '@tanstack/react-router';
import { type Person, readPerson } from '../../api/owners.ts';
import { Pair } from '../../ui/pair.tsx';
import { FromConfig, Time } from '../../ui/values.tsx';
import { OwnerActs } from '../owners/owner-acts.tsx';
import { ActiveBadge, OwnerLinks, OpenedDrawer, WholeId } from '../owners/parts.tsx';
import { ChangePerson, patchPerson, roleWords } from './person-forms.tsx';

export const PersonDrawer = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => (
  <OpenedDrawer
    what="Person"
    queryKey={['people', 'one', id]}
    load={(signal) => readPerson(id, signal)}
    titleOf={({ name }) => name}
    onClose={onClose}
  >
    {(person) => <Detail of={person} />}
  </OpenedDrawer>
);

function Detail({ of: person }: { readonly of: Person }) {
  const id = person.user_id;
  return (
    <>
      <OwnerActs
        kind="user"
        id={id}
        of={person}
        word="Change…"
        form={(done) => <ChangePerson of={person} onClose={done} />}
        change={(active, ifMatch) => patchPerson(id, ifMatch, { active })}
        present={() => readPerson(id)}
      />
      <Facts of={person} />
      <OwnerLinks kind="user" id={id} payer={{ kind: 'user', id }} />
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
    <Pair name="Created (UTC)">
      <Time at={person.created_at} />
    </Pair>
    <Pair name="Id" isBroad>
      <WholeId of={person.user_id} />
    </Pair>
  </dl>
);
