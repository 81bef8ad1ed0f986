import type { ReactNode } from 'react'

/** A value that counts from its time until the next point. */
export interface Point {
  readonly at_ms: number
  readonly value: number
}

const WIDTH = 1_000
const HEIGHT = 100

/** A value over time, in steps: it is what it was until it changes. The words are those of its highest and lowest value. */
export function LineChart({
  label,
  points,
  from,
  to,
  highest,
  lowest,
}: {
  readonly label: string
  readonly points: readonly Point[]
  readonly from: { readonly at_ms: number; readonly words: string }
  readonly to: { readonly at_ms: number; readonly words: string }
  readonly highest: string
  readonly lowest: string
}): ReactNode {
  const values = points.map(({ value }) => value)
  const [min, max] = [Math.min(...values), Math.max(...values)]
  const x = (at_ms: number): number =>
    Math.max(0, ((at_ms - from.at_ms) / Math.max(1, to.at_ms - from.at_ms)) * WIDTH)
  // A value that never changes is in the middle.
  const y = (value: number): number => (max === min ? HEIGHT / 2 : ((max - value) / (max - min)) * HEIGHT)
  const steps = points.map(({ at_ms, value }, place) => {
    const end_ms = points[place + 1]?.at_ms ?? to.at_ms
    return `${place === 0 ? 'M' : 'L'}${x(at_ms).toFixed(1)} ${y(value).toFixed(1)}H${x(end_ms).toFixed(1)}`
  })
  return (
    <figure className="chart line">
      <div className="plot">
        <span className="top" aria-hidden="true">
          {highest}
        </span>
        <span className="bottom" aria-hidden="true">
          {lowest}
        </span>
        <svg role="img" aria-label={label} viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`} preserveAspectRatio="none">
          <path d={steps.join('')} />
        </svg>
      </div>
      <figcaption aria-hidden="true">
        <span>{from.words}</span>
        <span>{to.words}</span>
      </figcaption>
    </figure>
  )
}
