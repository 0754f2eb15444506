import { Link } from '@tanstack/react-router';
import { readTeam, type Team } from '../../api/owners.ts';
import { Pair } from '../../ui/pair.tsx';
import { Count, FromConfig, Time } from '../../ui/values.tsx';
import { OwnerActs } from '../owners/owner-acts.tsx';
import { ActiveBadge, OwnerLinks, OpenedDrawer, WholeId } from '../owners/parts.tsx';
import { Members } from './members.tsx';
import { patchTeam, RenameTeam } from './team-forms.tsx';

export const TeamDrawer = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => (
  <OpenedDrawer
    what="Team"
    queryKey={['teams', 'one', id]}
    load={(signal) => readTeam(id, signal)}
    titleOf={({ name }) => `Team ${name}`}
    onClose={onClose}
  >
    {(team) => <Detail of={team} />}
  </OpenedDrawer>
);

function Detail({ of: team }: { readonly of: Team }) {
  const id = team.team_id;
  return (
    <>
      <OwnerActs
        kind="team"
        id={id}
        of={team}
        word="Rename…"
        form={(done) => <RenameTeam of={team} onClose={done} />}
        change={(active, ifMatch) => patchTeam(id, ifMatch, { active })}
        present={() => readTeam(id)}
      />
      <Facts of={team} />
      <OwnerLinks kind="team" id={id} payer={{ kind: 'team', id }} />
      <Members of={team} />
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
    <Pair name="Created (UTC)">
      <Time at={team.created_at} />
    </Pair>
  </dl>
);
