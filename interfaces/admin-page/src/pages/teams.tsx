import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="teams">
    <p>Under construction.</p>
  </Frame>
);
