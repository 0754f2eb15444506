import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { readTeam, type Team } from '../../api/owners.ts';
import { Pair } from '../../ui/pair.tsx';
import { Count, FromConfig, Time } from '../../ui/values.tsx';
import { ChangeActivity } from '../owners/change-activity.tsx';
import { ActiveBadge, Elsewhere, OwnerDrawer, WholeId } from '../owners/parts.tsx';
import { Members } from './members.tsx';
import { patchTeam, RenameTeam } from './team-forms.tsx';

export const TeamDrawer = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => (
  <OwnerDrawer
    what="Team"
    queryKey={['teams', 'one', id]}
    load={(signal) => readTeam(id, signal)}
    titleOf={({ name }) => `Team ${name}`}
    onClose={onClose}
  >
    {(team) => <Detail of={team} />}
  </OwnerDrawer>
);

function Detail({ of: team }: { readonly of: Team }) {
  const [act, setAct] = useState<'rename' | 'activity'>();
  const done = (): void => setAct(undefined);
  const id = team.team_id;
  return (
    <>
      <div className="actions">
        <button type="button" className="button" onClick={() => setAct('rename')}>
          Rename…
        </button>
        <Link className="button" to="/keys" search={{ owner_kind: 'team', owner_id: id }}>
          Keys
        </Link>
        <button
          type="button"
          className={team.active ? 'button danger' : 'button'}
          onClick={() => setAct('activity')}
        >
          {team.active ? 'Deactivate…' : 'Activate…'}
        </button>
      </div>
      <Facts of={team} />
      <Elsewhere kind="team" id={id} payer={{ kind: 'team', id }} />
      <Members of={team} />
      {act === 'rename' ? <RenameTeam of={team} onClose={done} /> : null}
      {act === 'activity' ? (
        <ChangeActivity
          kind="team"
          id={id}
          of={team}
          change={(active, ifMatch) => patchTeam(id, ifMatch, { active })}
          present={() => readTeam(id)}
          onClose={done}
        />
      ) : null}
    </>
  );
}

const Facts = ({ of: team }: { readonly of: Team }) => (
  <dl className="pairs">
    <Pair name="State">
      <ActiveBadge is={team.active} /> <FromConfig is={team.from_config} />
    </Pair>
    <Pair name="Id">
      <WholeId of={team.team_id} />
    </Pair>
    <Pair name="Members">
      <Link to="/people" search={{ team_id: team.team_id }}>
        <Count of={team.member_count} />
      </Link>
    </Pair>
    <Pair name="Service accounts">
      <Link to="/service-accounts" search={{ team_id: team.team_id }}>
        Those of this team
      </Link>
    </Pair>
    <Pair name="Created">
      <Time at={team.created_at} />
    </Pair>
  </dl>
);
