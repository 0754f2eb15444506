import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="leaderboard">
    <p>Under construction.</p>
  </Frame>
);
