import { type FocusEvent, useEffect, useState } from 'react';
import { Icon } from '../../ui/icons.tsx';

const everyMs = 2_000;

export interface LiveTail {
  readonly isOn: boolean;
  readonly isPaused: boolean;
  /** Why it waits although nobody paused it. */
  readonly waitsFor: string | undefined;
  /** Seconds since the list was loaded. */
  readonly behindSecs: number;
  readonly pause: (isPaused: boolean) => void;
  /** For the element that contains the list. */
  readonly listProps: {
    readonly onPointerEnter: () => void;
    readonly onPointerLeave: () => void;
    readonly onFocus: (event: FocusEvent) => void;
    readonly onBlur: () => void;
  };
}

/** Reloads the list every 2 seconds, unless somebody is about to read or open a row of it. */
export function useLiveTail({
  isOn,
  isFirstPage,
  isOpen,
  readAt,
  readAgain,
}: {
  readonly isOn: boolean;
  readonly isFirstPage: boolean;
  /** The details of a row are open. */
  readonly isOpen: boolean;
  /** When the list was loaded, in milliseconds since the epoch. */
  readonly readAt: number;
  readonly readAgain: () => void;
}): LiveTail {
  const [isPaused, pause] = useState(false);
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const now = useNow(isOn);
  const waitsFor = isFirstPage ? whatHolds({ isOpen, isPointed, isFocused }) : 'runs only on page 1';
  const runs = isOn && !isPaused && waitsFor === undefined;
  useEffect(() => {
    if (!runs) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') readAgain();
    }, everyMs);
    return () => clearInterval(timer);
  }, [runs, readAgain]);
  return {
    isOn,
    isPaused,
    waitsFor,
    behindSecs: readAt === 0 ? 0 : Math.max(0, Math.floor((now - readAt) / 1000)),
    pause,
    listProps: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocus: ({ target }) => setFocused(target.closest('tbody') !== null),
      onBlur: () => setFocused(false),
    },
  };
}

function whatHolds({
  isOpen,
  isPointed,
  isFocused,
}: {
  readonly isOpen: boolean;
  readonly isPointed: boolean;
  readonly isFocused: boolean;
}): string | undefined {
  if (isOpen) return 'waits while a request is open';
  if (isPointed) return 'waits while you point at the list';
  return isFocused ? 'waits while a row has the focus' : undefined;
}

/** The time, updated each second while it is wanted. */
function useNow(isWanted: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isWanted) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isWanted]);
  return now;
}

/** Starts, pauses and ends the live tail, and shows how far behind the list is. */
export function LiveTailControls({
  tail,
  turn,
}: {
  readonly tail: LiveTail;
  readonly turn: (on: boolean) => void;
}) {
  const { isOn, isPaused, waitsFor, behindSecs, pause } = tail;
  return (
    <div className="row live-tail">
      {isOn ? (
        <span className="muted number">
          {isPaused ? 'Paused' : (waitsFor ?? 'Live')}, {behindSecs} s behind
        </span>
      ) : null}
      <button
        type="button"
        className="button"
        aria-pressed={isOn}
        onClick={() => {
          pause(false);
          turn(!isOn);
        }}
      >
        <Icon name="clock" /> Live tail
      </button>
      {isOn ? (
        <button type="button" className="button" onClick={() => pause(!isPaused)}>
          <Icon name={isPaused ? 'play' : 'pause'} /> {isPaused ? 'Resume' : 'Pause'}
        </button>
      ) : null}
    </div>
  );
}
