import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="budgets">
    <p>Under construction.</p>
  </Frame>
);
