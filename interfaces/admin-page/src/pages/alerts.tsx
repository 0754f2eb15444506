import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="alerts">
    <p>Under construction.</p>
  </Frame>
);
