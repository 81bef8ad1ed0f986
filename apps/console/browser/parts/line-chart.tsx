import type { ReactNode } from 'react'

/** A value that counts from its time until the next point. */
export interface Point {
  readonly at_ms: number
  readonly value: number
}

const WIDTH = 1_000
const HEIGHT = 100

/** A value over time, in steps, drawn by the browser: it is what it was until it changes. */
export function LineChart({
  label,
  points,
}: {
  /** What the line shows, with its lowest and highest value. */
  readonly label: string
  readonly points: readonly Point[]
}): ReactNode {
  const values = points.map(({ value }) => value)
  const [min, max] = [Math.min(...values), Math.max(...values)]
  const [from_ms, to_ms] = [points[0]?.at_ms ?? 0, points.at(-1)?.at_ms ?? 0]
  const x = (at_ms: number): number => ((at_ms - from_ms) / Math.max(1, to_ms - from_ms)) * WIDTH
  // A value that never changes is in the middle.
  const y = (value: number): number => (max === min ? HEIGHT / 2 : ((max - value) / (max - min)) * HEIGHT)
  const steps = points.map(({ at_ms, value }, place) => {
    const end_ms = points[place + 1]?.at_ms ?? to_ms
    return `${place === 0 ? 'M' : 'L'}${x(at_ms).toFixed(1)} ${y(value).toFixed(1)}H${x(end_ms).toFixed(1)}`
  })
  return (
    <svg
      className="line"
      role="img"
      aria-label={label}
      viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`}
      preserveAspectRatio="none"
    >
      <title>{label}</title>
      <path d={steps.join('')} />
    </svg>
  )
}
