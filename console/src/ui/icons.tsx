/** Icons: strokes on a grid of 24, drawn here. */
const PATHS = {
  overview: ["M4 13h6V4H4zM14 20h6v-9h-6zM14 4v3h6V4zM4 20h6v-3H4z"],
  live: ["M3 12h4l3-8 4 16 3-8h4"],
  map: ["M9 4 3 6.500v13.500l6-2.5 6 2.5 6-2.500V4l-6 2.500L9 4zM9 4v13.500M15 6.500V20"],
  subscriptions: ["M4 6h16M4 12h16M4 18h10"],
  explain: ["M9.5 9a2.6 2.6 0 1 1 3.8 2.300c-.9.5-1.3 1-1.3 2.200M12 17h.01", "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z"],
  windows: ["M4 5h16v14H4zM4 10h16M9 10v9"],
  fit: ["M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"],
  deliveries: ["M3 12 21 4l-6 17-3.5-7.500L3 12zM11.5 13.5 21 4"],
  publish: ["M12 19V6M6 11.5 12 5.500l6 6"],
  search: ["M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4"],
  pause: ["M8 5v14M16 5v14"],
  play: ["M7 4.500v15l12-7.500z"],
  close: ["M6 6l12 12M18 6 6 18"],
  up: ["M7 14l5-5 5 5"],
  down: ["M7 10l5 5 5-5"],
  check: ["M5 12.500l4.5 4.500L19 7"],
  alert: ["M12 8v5M12 16.500h.01", "M10.3 4 2.5 18a2 2 0 0 0 1.7 3h15.600a2 2 0 0 0 1.7-3L13.7 4a2 2 0 0 0-3.4 0z"],
  retry: ["M20 5v5h-5", "M19.5 10A8 8 0 1 0 20 14"],
  plus: ["M12 5v14M5 12h14"],
  trash: ["M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13"],
  sun: ["M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.400M17.6 17.6 19 19M19 5l-1.4 1.400M6.4 17.6 5 19"],
  moon: ["M20 14.500A8 8 0 1 1 9.5 4a6.5 6.5 0 0 0 10.5 10.500z"],
  leave: ["M10 4H5v16h5M15 8l4 4-4 4M19 12H9"],
  keyboard: ["M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8"],
  bookmark: ["M7 4h10v16l-5-4-5 4z"],
  bell: ["M12 4c-3.3 0-5.4 2.5-5.4 5.8 0 4-.9 5.2-1.9 6.3-.4.4 0 1 .5 1h13.600c.5 0 .8-.6.5-1-1-1.1-1.9-2.3-1.9-6.300C17.4 6.5 15.3 4 12 4zM10.5 20a1.6 1.6 0 0 0 3 0"],
  key: ["M15 4a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11.5 12.5 4 20M7 17l2.5 2.5"],
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {PATHS[name].map((path) => (
        <path key={path} d={path} />
      ))}
    </svg>
  );
}

export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#17181c" />
      <path d="M16 6.500c-4 0-6.4 3-6.4 6.9 0 4.7-1.1 6.1-2.2 7.4-.4.5 0 1.2.6 1.200h16c.6 0 1-.7.6-1.2-1.1-1.3-2.2-2.7-2.2-7.4 0-3.9-2.4-6.9-6.4-6.900z" fill="#e0a03a" />
      <circle cx="16" cy="24.6" r="2" fill="#e0a03a" />
    </svg>
  );
}
